// Runs a graph in onnxruntime: node graph.cjs MODEL SAMPLES SHAPE LOGITS DENOISED. SHAPE is
// channels,rows,cols of images, which are raw bytes, or the number of features of vectors, which are float32.
const fs = require("fs");
let ort;
try {
  ort = require("onnxruntime-node");
} catch (e) {
  console.log(JSON.stringify({ missing: e.message.split("\n")[0] }));
  process.exit(0);
}
if (process.argv.length < 7) {
  console.log(JSON.stringify({ version: ort.env.versions.common }));
  process.exit(0);
}
const [model, samples, text, logits, denoised] = process.argv.slice(2);

async function main() {
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const shape = text.split(",").map(Number), size = shape.reduce((a, b) => a * b), batch = 100;
  const file = fs.readFileSync(samples), copy = new Uint8Array(file);
  const values = shape.length > 1 ? Float32Array.from(copy, (v) => v / 255) : new Float32Array(copy.buffer);
  const files = { logits: fs.openSync(logits, "w"), denoised: fs.openSync(denoised, "w") };
  for (let at = 0; at < values.length; at += batch * size) {
    const part = values.slice(at, at + batch * size);
    const x = new ort.Tensor("float32", part, [part.length / size, ...shape]);
    const results = await session.run({ [session.inputNames[0]]: x });
    for (const [name, file] of Object.entries(files)) {
      const y = results[name].data;
      fs.writeSync(file, Buffer.from(y.buffer, y.byteOffset, y.byteLength));
    }
  }
  console.log(JSON.stringify({ inputs: session.inputNames, outputs: session.outputNames }));
}

main().catch((e) => {
  console.error(e.message);
  process.exit(1);
});
