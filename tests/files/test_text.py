"""The text of files in all encodings that programs of go, chess and shogi write."""

import pytest

from azjax.files.text import SHIFT_JIS, decode


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        (b"\xef\xbb\xbfa\r\nb\rc\n", "", "a\nb\nc\n"),
        ("古力 \r\n".encode("utf-16"), "gb2312", "古力 \n"),
        ("古力".encode("utf-32"), "", "古力"),
        ("古力".encode("utf-16-be").join([b"\xfe\xff", b""]), "", "古力"),
        ("古力".encode("gbk"), "GB2312", "古力"),
        ("古力".encode(), "gb2312", "古力"),  # a wrong declaration
        ("古力".encode()[:-1], "gb2312", "古\ufffd"),  # a cut file
        ("功包".encode("big5"), "Big5", "功包"),
        ("表ソ".encode("cp932"), "Shift_JIS", "表ソ"),
        ("이세돌".encode("euc-kr"), "EUC-KR", "이세돌"),
        ("Ж".encode("cp1251"), "windows-1251", "Ж"),
        ("für".encode(), "ISO-8859-1", "fÃ¼r"),
        (b"\xfd\xfd", "gb2312", "\ufffd"),
        (b"\xff\xc4\xe3", "gb2312", "\ufffd你"),
        (b"{\x93good\x94}", "", "{“good”}"),
        (b"f\xfcr", "no-such-charset", "für"),
        *((b"f\xfcr+AGE-", name, "für+AGE-") for name in ("utf-7", "utf-16", "base64", "\0", "é")),
        (b"f\xfcr", "UTF-8", "f\ufffdr"),
        (b"\xff\xfe\x81", "", "\ufffd"),
        (b"", "", ""),
    ],
)
def test_a_file_becomes_text(data, declared, text):
    assert decode(data, declared) == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp932"])
def test_files_of_shogi_are_in_unicode_or_shift_jis(encoding):
    text = "先手：表ソ\n   1 ７六歩(77)\n"
    assert decode(text.encode(encoding), fallback=SHIFT_JIS) == text
