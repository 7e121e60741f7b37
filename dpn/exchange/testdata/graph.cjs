// Runs a graph in onnxruntime: node graph.cjs MODEL IMAGES ROWS COLS LOGITS DENOISED. Images are raw bytes.
const fs = require("fs");
let ort;
try {
  ort = require("onnxruntime-node");
} catch (e) {
  console.log(JSON.stringify({ missing: e.message.split("\n")[0] }));
  process.exit(0);
}
if (process.argv.length < 8) {
  console.log(JSON.stringify({ version: ort.env.versions.common }));
  process.exit(0);
}
const [model, images, rows, cols, logits, denoised] = process.argv.slice(2);

async function main() {
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const bytes = fs.readFileSync(images), size = rows * cols, batch = 100;
  const files = { logits: fs.openSync(logits, "w"), denoised: fs.openSync(denoised, "w") };
  for (let at = 0; at < bytes.length; at += batch * size) {
    const grey = Float32Array.from(bytes.subarray(at, at + batch * size), (v) => v / 255);
    const x = new ort.Tensor("float32", grey, [grey.length / size, 1, +rows, +cols]);
    const results = await session.run({ images: x });
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
