import { MODEL } from './model.js';

const TENSORS = JSON.stringify({
  inputs: [
    {
      name: 'input',
      datatype: 'FP32',
      shape: [1, MODEL.inputBytes / 4],
      parameters: { binary_data_size: MODEL.inputBytes },
    },
  ],
  outputs: [{ name: 'output', parameters: { binary_data: true } }],
});
const DATA = Buffer.alloc(MODEL.inputBytes);

/** An infer request for `MODEL` with binary tensors. `parameters`: of the request, as JSON; '': none. */
export function httpRequest(parameters = ''): Buffer {
  const json = parameters === '' ? TENSORS : `{"parameters":${parameters},${TENSORS.slice(1)}`;
  const head = [
    `POST /v2/models/${MODEL.name}/infer HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/octet-stream',
    `inference-header-content-length: ${json.length}`,
    `content-length: ${json.length + DATA.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n${json}`), DATA]);
}
