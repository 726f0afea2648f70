// Runs models with a runtime for JavaScript. serve.py starts it as
//
//     node serve.js FOLDER PACKAGE
//
// and asks with one JSON object a line. FOLDER holds node_modules; PACKAGE is onnxruntime-node, onnxruntime-web or onnxjs.
const fs = require("fs");
const readline = require("readline");

const ARRAYS = {
  float16: Uint16Array, float32: Float32Array, float64: Float64Array, bool: Uint8Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
};

// Where there is a fetch, old releases read files of their own with it, which that of Node.js does not.
delete globalThis.fetch;

const [folder, name] = process.argv.slice(2);
const runtime = require(require.resolve(name, { paths: [folder] }));
const isOld = name === "onnxjs";

function tensorOf({ dtype, dims, data, texts }) {
  const values = texts || new ARRAYS[dtype](Uint8Array.from(Buffer.from(data, "base64")).buffer);
  if (!isOld) return new runtime.Tensor(texts ? "string" : dtype, values, dims);
  // It has no int64; where a model asks for it, it takes int32.
  return dtype === "int64" ? new runtime.Tensor(Int32Array.from(values, Number), "int32", dims) : new runtime.Tensor(values, dtype, dims);
}

function written({ type, dims, data }) {
  if (type === "string") return { texts: Array.from(data), dims };
  return { dtype: type, dims, data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64") };
}

async function answer({ model, inputs, outputs }) {
  const tensors = Object.entries(inputs).map(([key, value]) => [key, tensorOf(value)]);
  let found;
  if (isOld) {
    const session = new runtime.InferenceSession({ backendHint: "cpu" });
    await session.loadModel(fs.readFileSync(model));
    found = Object.fromEntries(await session.run(new Map(tensors)));
  } else {
    const session = await runtime.InferenceSession.create(fs.readFileSync(model), { executionProviders: [name.endsWith("web") ? "wasm" : "cpu"], logSeverityLevel: 4 });
    found = await session.run(Object.fromEntries(tensors), outputs);
    if (session.release) await session.release();
  }
  return Object.fromEntries(outputs.map((one) => [one, written(found[one])]));
}

if (name.endsWith("web")) runtime.env.wasm.numThreads = 1;
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
console.log = console.error;

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      say({ outputs: await answer(JSON.parse(line)) });
    } catch (error) {
      say({ error: String((error && error.message) || error) });
    }
  }
})();
