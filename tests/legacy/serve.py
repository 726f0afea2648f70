"""The runner of `opsetlift measure` for runtimes with a Python package; one file without imports of ours.

    python serve.py ENGINE [FOLDER...] [-- MODEL INPUTS OUTPUTS]

ENGINE is onnxruntime, openvino, opencv, tract, mnn or tvm; FOLDERs come first on the module path. It may also be
onnxruntime-node, onnxruntime-web or onnxjs, which Node.js runs; the FOLDER has node_modules then. Without files it
reads requests, as opsetlift/measuring/runner.py describes them. It runs in Python 3.6, which the oldest releases need.
"""

# Python 3.6 has neither zip(strict=) nor what these rules ask for.
# ruff: noqa: B905, UP031, SIM105

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings


def onnxruntime_engine():
    """Run models with onnxruntime since 0.1, on the CPU with one thread."""
    import onnxruntime

    def run(path, inputs):
        options = onnxruntime.SessionOptions()
        for name in ("intra_op_num_threads", "inter_op_num_threads", "session_thread_pool_size"):
            if hasattr(options, name):
                setattr(options, name, 1)
        if hasattr(options, "log_severity_level"):
            options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except TypeError:  # Releases before 1.3 have no choice of providers.
            session = onnxruntime.InferenceSession(path, options)
        names = [one.name for one in session.get_outputs()]
        return dict(zip(names, session.run(names, inputs)))

    return run


def openvino_engine():
    """OpenVINO since 2022, in float32 with one thread."""
    try:
        from openvino import Core
    except ImportError:
        try:
            from openvino.runtime import Core
        except ImportError:
            return inference_engine()
    core = Core()
    try:
        core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
    except Exception:  # older releases have other properties
        pass

    def run(path, inputs):
        model = core.read_model(path)
        given, wanted = names_of(path)
        if len(given) == len(model.inputs) and set(inputs) == set(given):
            inputs = {given.index(name): value for name, value in inputs.items()}  # it renames some
        else:  # it drops those that nothing reads
            kept = set().union(*[one.get_names() for one in model.inputs])
            inputs = {name: value for name, value in inputs.items() if name in kept}
        compiled = core.compile_model(model, "CPU")
        request = compiled.create_infer_request()
        request.infer(inputs)
        if len(compiled.outputs) != len(wanted):
            raise RuntimeError("it has %d outputs instead of %d" % (len(compiled.outputs), len(wanted)))
        return {name: numpy.array(request.get_output_tensor(place).data) for place, name in enumerate(wanted)}

    return run


def inference_engine():
    """OpenVINO before 2022."""
    from openvino.inference_engine import IECore

    core = IECore()
    precisions = {"int64": "I64", "int32": "I32", "uint8": "U8", "int8": "I8", "bool": "BOOL"}

    def run(path, inputs):
        network = core.read_network(model=path)
        inputs = renamed(inputs, network.input_info)
        for name, value in inputs.items():
            if name in network.input_info:
                network.input_info[name].precision = precisions.get(value.dtype.name, "FP32")
        loaded = core.load_network(network, "CPU", {"ENFORCE_BF16": "NO", "CPU_THREADS_NUM": "1"})
        found = {name: numpy.array(value) for name, value in loaded.infer(inputs).items()}
        wanted = names_of(path)[1]
        if len(wanted) == len(found) == 1:
            return {wanted[0]: next(iter(found.values()))}
        own = renamed(dict.fromkeys(wanted), found)
        return {name: found[place] for name, place in zip(wanted, own)}

    return run


def renamed(values, names):
    """Values by name, where a runtime has given some of them names of its own, in the same order."""
    missing = [name for name in values if name not in names]
    others = [name for name in names if name not in values]
    if len(missing) != len(others):
        return values
    own = dict(zip(missing, others))
    return {own.get(name, name): value for name, value in values.items()}


def opencv_engine():
    """The module dnn of OpenCV."""
    import cv2

    cv2.setNumThreads(1)

    def run(path, inputs):
        net = cv2.dnn.readNetFromONNX(path)
        for name, value in inputs.items():
            # Without the wrapper 4.5 takes three dimensions for rows, columns and channels.
            net.setInput(cv2.Mat(value) if value.ndim == 3 and hasattr(cv2, "Mat") else value, name)
        wanted, layers = names_of(path)[1], list(net.getLayerNames())
        found = list(net.getUnconnectedOutLayersNames())
        if len(wanted) == len(found) == 1:
            return {wanted[0]: net.forward()}
        chosen = [next(one for one in found + layers if one.split("!", 1)[-1] == name) for name in wanted]
        return dict(zip(wanted, net.forward(chosen)))

    return run


def tract_engine():
    """Tract, by its Python package."""
    import tract

    def run(path, inputs):
        model = tract.onnx().load(path).into_model()
        names = [model.input_name(place) for place in range(model.input_count())]
        found = model.into_runnable().run([inputs[name] for name in names])
        return {name: array_of(value) for name, value in zip(names_of(path)[1], found)}

    def array_of(value):
        try:
            return value.to_numpy()
        except tract.TractError:  # sizes have a dtype of their own
            return value.convert_to(tract.DatumType.I64).to_numpy()

    return run


def mnn_engine():
    """MNN: its converter, and what it writes on the CPU with one thread."""
    # Not MNN.tools: it installs packages when it is imported, and sends what was converted.
    import _tools
    import MNN.expr
    import MNN.nn

    dtypes = {"float32": MNN.expr.float, "int32": MNN.expr.int, "uint8": MNN.expr.uint8, "int8": MNN.expr.int8}
    others = {"float64": "float32", "float16": "float32", "int64": "int32", "bool": "int32"}

    def run(path, inputs):
        folder = tempfile.mkdtemp()
        try:
            converted = os.path.join(folder, "model.mnn")
            files = ["--modelFile", path, "--MNNModel", converted]
            _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--bizCode", "x", *files])
            if not os.path.exists(converted):
                raise RuntimeError("it is not converted")
            names, wanted = names_of(path)
            net = MNN.nn.load_module_from_file(converted, names, wanted)
            given = []
            for name in names:
                value = inputs[name]
                value = numpy.ascontiguousarray(value.astype(others.get(value.dtype.name, value.dtype.name)))
                layout = MNN.expr.NCHW
                given.append(MNN.expr.const(value, list(value.shape), layout, dtypes[value.dtype.name]))
            found = net.onForward(given)
            return {name: numpy.array(MNN.expr.convert(one, MNN.expr.NCHW).read()) for name, one in zip(wanted, found)}
        finally:
            shutil.rmtree(folder)

    return run


def tvm_engine():
    """TVM's importer by Relax, compiled for the CPU without tuning."""
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    def run(path, inputs):
        module = relax.get_pipeline("zero")(from_onnx(onnx.load(path), keep_params_in_input=False))
        machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
        names = [one.name for one in module["main"].params]
        found = machine["main"](*[tvm.runtime.tensor(inputs[name]) for name in names])
        found = [found] if hasattr(found, "numpy") else found
        return {name: one.numpy() for name, one in zip(names_of(path)[1], found)}

    return run


def javascript_engine(package, folder):
    """A runtime for Node.js, in a process of its own."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve.js")
    node = subprocess.Popen(["node", program, folder, package], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(path, inputs):
        request = {"model": path, "inputs": {}, "outputs": names_of(path)[1]}
        for name, value in inputs.items():
            is_text = value.dtype.kind in "OSU"
            data = {"texts": value.astype(str).ravel().tolist()} if is_text else {"data": encoded(value)}
            request["inputs"][name] = dict(data, dtype=value.dtype.name, dims=list(value.shape))
        node.stdin.write((json.dumps(request) + "\n").encode())
        node.stdin.flush()
        line = node.stdout.readline()
        if not line:
            os._exit(1)  # it crashed
        answer = json.loads(line.decode())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return {name: decoded(one) for name, one in answer["outputs"].items()}

    def encoded(value):
        return base64.b64encode(numpy.ascontiguousarray(value).tobytes()).decode()

    def decoded(one):
        if "texts" in one:
            return numpy.array(one["texts"], object).reshape(one["dims"])
        return numpy.frombuffer(base64.b64decode(one["data"]), one["dtype"]).reshape(one["dims"])

    return run


def names_of(path):
    """The inputs without an initializer and the outputs of a model file; onnx is not there in these environments."""
    with open(path, "rb") as file:
        graph = [value for number, value in fields(memoryview(file.read())) if number == 7][-1]
    named = {number: [] for number in (5, 11, 12)}
    for number, value in fields(graph):
        if number in named:
            wanted = 8 if number == 5 else 1
            named[number].append(next(bytes(text).decode() for one, text in fields(value) if one == wanted))
    return [name for name in named[11] if name not in named[5]], named[12]


def fields(buffer):
    """The fields of a protobuf message: number and bytes, or None for numbers."""
    place = 0

    def varint(place):
        value = shift = 0
        while True:
            byte = buffer[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value, place

    while place < len(buffer):
        key, place = varint(place)
        kind = key & 7
        value = None
        if kind == 0:
            place = varint(place)[1]
        elif kind == 2:
            length, place = varint(place)
            value, place = buffer[place : place + length], place + length
        else:
            place += 8 if kind == 1 else 4
        yield key >> 3, value


def execute(run, model, inputs, outputs):
    """Run a file and write what it computes."""
    with numpy.load(inputs, allow_pickle=False) as archive:
        given = {
            name: archive[name].astype(object) if archive[name].dtype.kind == "U" else archive[name]
            for name in archive.files
        }
    found = {}
    for name, value in run(model, given).items():
        array = numpy.asarray(value)
        found[name] = array.astype(str) if array.dtype.kind in "OSU" else array
    with open(outputs, "wb") as file:
        numpy.savez(file, **found)


def main():
    """Answer requests, or run one model."""
    arguments, _, files = " ".join(sys.argv[1:]).partition(" -- ")
    engine = arguments.split()[0]
    engines = {
        "onnxruntime": onnxruntime_engine,
        "openvino": openvino_engine,
        "opencv": opencv_engine,
        "tract": tract_engine,
        "mnn": mnn_engine,
        "tvm": tvm_engine,
    }
    run = engines[engine]() if engine in engines else javascript_engine(engine, sys.argv[2])
    if files:
        execute(run, *files.split())
        return
    for line in sys.stdin:
        request = json.loads(line)
        try:
            execute(run, request["model"], request["inputs"], request["outputs"])
            answer = {"ok": True}
        except Exception as error:
            answer = {"error": "%s: %s" % (type(error).__name__, error)}
        protocol.write(json.dumps(answer) + "\n")
        protocol.flush()


if __name__ == "__main__":
    protocol = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # native libraries print there
    sys.path[:0] = [one for one in sys.argv[2:] if one != "--"]
    warnings.simplefilter("ignore")
    import numpy

    main()
