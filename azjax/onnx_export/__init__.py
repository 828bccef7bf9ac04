"""From a JAX function of static shapes to an ONNX model; see `convert.to_onnx`."""
