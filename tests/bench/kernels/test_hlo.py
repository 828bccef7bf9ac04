"""The reader of compiled programs, on programs whose counts are known."""

import jax
import jax.numpy as jnp
import pytest

from benchmarks.kernels import hlo
from benchmarks.kernels.counting import Runs
from benchmarks.kernels.kernels import matrix_flops
from benchmarks.kernels.launches import launches

# As XLA writes programs for GPUs: a counted loop of a product and a fusion, whose body has a loop
# that goes on while data says so, and a branch.
GPU = """HloModule jit_f, is_scheduled=true

%fused (p.0: f32[8,8], p.1: s32[]) -> f32[1,8] {
  %p.0 = f32[8,8]{1,0} parameter(0)
  %p.1 = s32[] parameter(1)
  %zero = s32[] constant(0)
  %row = f32[1,8]{1,0} dynamic-slice(%p.0, %p.1, %zero), dynamic_slice_sizes={1,8}
  ROOT %twice = f32[1,8]{1,0} add(%row, %row)
}

%test.1 (s.1: (s32[])) -> pred[] {
  %s.1 = (s32[]) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=0
  ROOT %live = pred[] fusion(%i.1), kind=kLoop, calls=%any
}

%any (q: s32[]) -> pred[] {
  %q = s32[] parameter(0)
  %n = s32[] constant(3)
  ROOT %lt = pred[] compare(%q, %n), direction=LT
}

%down (s.2: (s32[])) -> (s32[]) {
  %s.2 = (s32[]) parameter(0)
  %i.2 = s32[] get-tuple-element(%s.2), index=0
  %a.2 = s32[] negate(%i.2)
  %b.2 = s32[] copy(%a.2)
  ROOT %t.2 = (s32[]) tuple(%b.2)
}

%few (s.3: f32[8,8]) -> f32[8,8] {
  %s.3 = f32[8,8]{1,0} parameter(0)
  ROOT %c.3 = f32[8,8]{1,0} copy(%s.3)
}

%many (s.4: f32[8,8]) -> f32[8,8] {
  %s.4 = f32[8,8]{1,0} parameter(0)
  %c.4 = f32[8,8]{1,0} copy(%s.4)
  ROOT %d.4 = f32[8,8]{1,0} negate(%c.4)
}

%body (s.5: (s32[], f32[8,8], pred[])) -> (s32[], f32[8,8], pred[]) {
  %s.5 = (s32[], f32[8,8]{1,0}, /*index=2*/pred[]) parameter(0)
  %i.5 = s32[] get-tuple-element(%s.5), index=0
  %x.5 = f32[8,8]{1,0} get-tuple-element(%s.5), index=1
  %p.5 = pred[] get-tuple-element(%s.5), index=2
  %gemm = (f32[8,8]{1,0}, s8[4096]{0}) custom-call(%x.5, %x.5), GEMM
  %y.5 = f32[8,8]{1,0} get-tuple-element(%gemm), index=0
  %row.5 = f32[1,8]{1,0} fusion(%y.5, %i.5), kind=kLoop, calls=%fused
  %start.5 = (s32[]) tuple(%i.5)
  %walk.5 = (s32[]) while(%start.5), condition=%test.1, body=%down, WALK
  %c.5 = f32[8,8]{1,0} conditional(%p.5, %y.5, %y.5), true_computation=%many, false_computation=%few
  ROOT %t.5 = (s32[], f32[8,8]{1,0}, pred[]) tuple(%i.5, %c.5, %p.5)
}

%test.2 (s.6: (s32[], f32[8,8], pred[])) -> pred[] {
  %s.6 = (s32[], f32[8,8]{1,0}, pred[]) parameter(0)
  %i.6 = s32[] get-tuple-element(%s.6), index=0
  %n.6 = s32[] constant(5)
  ROOT %lt.6 = pred[] compare(%i.6, %n.6), direction=LT
}

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add = f32[] add(%a, %b)
}

ENTRY %main (x: f32[8,8], p: pred[]) -> f32[8,8] {
  %x = f32[8,8]{1,0} parameter(0)
  %p = pred[] parameter(1)
  %zero.7 = s32[] constant(0)
  %first = (s32[], f32[8,8]{1,0}, pred[]) tuple(%zero.7, %x, %p)
  %loop = (s32[], f32[8,8]{1,0}, pred[]) while(%first), condition=%test.2, body=%body, TRIPS
  %y = f32[8,8]{1,0} get-tuple-element(%loop), index=1
  %begun = f32[8,8]{1,0} all-reduce-start(%y), replica_groups={{0,1}}, to_apply=%sum
  ROOT %done = f32[8,8]{1,0} all-reduce-done(%begun)
}
"""
GPU = (
    GPU.replace(
        "TRIPS",
        'metadata={op_name="jit(f)/simulations/while"}, '
        'backend_config={"known_trip_count":{"n":"5"}}',
    )
    .replace("WALK", 'metadata={op_name="jit(f)/simulations/while/body/walk/while"}')
    .replace(
        "GEMM",
        'custom_call_target="__cublas$gemm", backend_config={"lhs_contracting_dimensions":["1"]}',
    )
)

# As XLA writes programs for TPUs: no trip counts, and layouts with tiles and kinds of memory.
TPU = """HloModule jit_f

%body (s: (s32[], f32[9,200])) -> (s32[], f32[9,200]) {
  %s = (s32[]{:T(128)}, f32[9,200]{1,0:T(8,128)}) parameter(0)
  %i = s32[]{:T(128)} get-tuple-element(%s), index=0
  %x = f32[9,200]{1,0:T(8,128)S(1)} get-tuple-element(%s), index=1
  %step = s32[]{:T(128)} constant(1)
  %copied = s32[]{:T(128)} copy(%i)
  %next = s32[]{:T(128)} add(%copied, %step)
  %y = f32[9,200]{1,0:T(8,128)} negate(%x)
  ROOT %t = (s32[]{:T(128)}, f32[9,200]{1,0:T(8,128)}) tuple(%next, %y)
}

%test (u: (s32[], f32[9,200])) -> pred[] {
  %u = (s32[]{:T(128)}, f32[9,200]{1,0:T(8,128)}) parameter(0)
  %j = s32[]{:T(128)} get-tuple-element(%u), index=0
  %end = s32[]{:T(128)} constant(9)
  ROOT %lt = pred[]{:T(512)} compare(%j, %end), direction=LT
}

ENTRY %main (x: f32[9,200]) -> (s32[], f32[9,200]) {
  %x = f32[9,200]{1,0:T(8,128)} parameter(0)
  %zero = s32[]{:T(128)} constant(0)
  %counter = s32[]{:T(128)} copy(%zero)
  %first = (s32[]{:T(128)}, f32[9,200]{1,0:T(8,128)}) tuple(%counter, %x)
  ROOT %loop = (s32[]{:T(128)}, f32[9,200]{1,0:T(8,128)}) while(%first), condition=%test, body=%body
}
"""


class Thrice(Runs):
    def trips(self, path):
        return 3.0, "assumed"


def test_launches_repeat_with_their_loops():
    whole = launches(hlo.parse(GPU), Thrice())
    # Five times: a product, a fusion, three steps of two kernels and four of the condition's one,
    # the larger branch of two kernels. Once: a collective, whose end is no launch of its own.
    assert whole.kernels == 5 * (2 + 3 * 2 + 4 + 2) + 1
    # Five times: the condition's four answers, and the branch.
    assert whole.reads == 5 * (4 + 1)
    assert whole.collectives() == {"all-reduce": (1, 8 * 8 * 4)}


def test_what_a_collective_sends_counts_in_any_memory():
    shape = "f32[9,200]{1,0:T(8,128)S(1)}"  # in a TPU's vector memory, in tiles
    lines = f"  %x = {shape} parameter(0)", f"  ROOT %y = {shape} all-reduce(%x), to_apply=%sum"
    text = "\n".join(["HloModule jit_f", "", "ENTRY %main () -> f32[9,200] {", *lines, "}"])
    assert launches(hlo.parse(text)).collectives() == {"all-reduce": (1, 16 * 256 * 4)}


def test_loops_are_named_by_their_scopes():
    whole = launches(hlo.parse(GPU))
    assert [(x.label, x.repetitions, x.source) for x in whole.loops] == [
        ("simulations in f", 5, "known"),
        ("walk in simulations in f", 4, "assumed"),
        ("a branch", 0, "assumed"),
        ("a branch", 1, "assumed"),
    ]
    assert whole.runs("simulations") == 5
    assert whole.runs("simulations", "walk") == 20
    assert whole.within("walk").kernels == 5 * (4 * 2 + 5)
    shares = whole.shares(lambda kernel: 1.0)  # waits included
    assert shares["walk"] == pytest.approx(5 * (4 * 2 + 5 + 5) / whole.total(lambda kernel: 1.0))


def test_work_of_kernels():
    first, second = launches(hlo.parse(GPU)).launches[:2]
    gemm, fusion = first.kernel, second.kernel
    assert gemm.matrix_flops == 2 * 8 * 8 * 8
    assert (gemm.opcode, gemm.matrix_dtype) == ("custom-call", "f32")
    assert gemm.bytes == 3 * 8 * 8 * 4  # its workspace is not counted
    assert (fusion.matrix_flops, fusion.operations) == (0, 8)
    assert fusion.bytes == 2 * 8 * 4 + 4  # one row read and written, and an index


def test_trip_counts_that_xla_does_not_write_down():
    program = hlo.parse(TPU)
    assert program.trip_count(program.computations["main"]["loop"]) == 9
    traced = hlo.parse(TPU.replace("constant(9)", "get-tuple-element(%u), index=0"))
    assert traced.trip_count(traced.computations["main"]["loop"]) is None


def test_bytes_on_a_tpu_have_the_padding_of_tiles_but_not_the_vector_memory():
    kernels = [x.kernel for x in launches(hlo.parse(TPU)).launches]
    (negation,) = (kernel for kernel in kernels if kernel.opcode == "negate")
    assert negation.bytes == 16 * 256 * 4  # read from vector memory, written to main memory


@pytest.mark.parametrize(
    ("target", "operands", "result"),
    [
        ("__cudnn$convForward", ("image", "window"), "output"),
        ("__cudnn$convBackwardInput", ("output", "window"), "image"),
        ("__cudnn$convBackwardFilter", ("image", "output"), "window"),
    ],
)
def test_convolutions_of_a_library(target, operands, result):
    shapes = {"image": "f32[4,6,7,16]", "window": "f32[3,3,16,32]", "output": "f32[4,6,7,32]"}
    given = "\n".join(f"  %{x} = {shapes[x]} parameter({i})" for i, x in enumerate(operands))
    text = (
        f"ENTRY %main (a: f32[1], b: f32[1]) -> f32[1] {{\n{given}\n"
        f"  ROOT %conv = ({shapes[result]}, u8[64]) custom-call(%{operands[0]}, %{operands[1]}), "
        f'dim_labels=b01f_01io->b01f, custom_call_target="{target}"\n}}\n'
    )
    table = hlo.parse(text).computations["main"]
    assert matrix_flops(table["conv"], table) == 2 * (4 * 6 * 7 * 32) * (3 * 3 * 16)


def test_a_program_of_jax():
    """Counts and names of a program that JAX compiles for the CPU of this machine."""
    size, repeats = 16, 7

    def repeat(x, steps):
        product = jax.lax.fori_loop(0, repeats, lambda i, y: jnp.dot(y, x), x)
        return jax.lax.while_loop(lambda s: s[0] < steps, lambda s: (s[0] + 1, -s[1]), (0, product))

    x = jnp.ones((size, size))
    whole = launches(hlo.parse(jax.jit(repeat).lower(x, 3).compile().as_text()))
    loops = sorted((loop.repetitions, loop.source) for loop in whole.loops)
    assert loops == [(4, "assumed"), (7, "known")]
    assert whole.total(lambda kernel: kernel.matrix_flops) == repeats * 2 * size**3


def test_a_convolution_of_jax_counts_as_in_its_definition():
    image, window = jnp.ones((4, 6, 7, 16)), jnp.ones((3, 3, 16, 32))

    def convolve(image, window):
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(image, window, (1, 1), "SAME", dimension_numbers=layout)

    text = jax.jit(convolve).lower(image, window).compile().as_text()
    flops = launches(hlo.parse(text)).total(lambda kernel: kernel.matrix_flops)
    assert flops == 2 * (4 * 6 * 7 * 32) * (3 * 3 * 16)


def test_other_text_is_refused():
    with pytest.raises(ValueError, match="ENTRY"):
        hlo.parse("nothing")
