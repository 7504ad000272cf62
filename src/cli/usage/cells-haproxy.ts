import { group, list, portOr, required, sizeOr, text, textOr } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: { map: required(text('FILE', 'Map of cells that plan --cells wrote')) },
  flags: {
    ...group('Cells', {
      cell: list(
        'CELL=ADDRESSES',
        'Controllers of a cell, active and standby, each HOST, HOST:HTTP_PORT or HOST:HTTP_PORT:GRPC_PORT (8000 and 8001); once for each cell',
      ),
    }),
    ...group('Front', {
      host: textOr('ADDRESS', '127.0.0.1', 'Address that HAProxy listens on'),
      'http-port': portOr('8000', 'Its port for HTTP'),
      'grpc-port': portOr('8001', 'Its port for gRPC; off: none'),
      'max-message': sizeOr(
        '1MiB',
        'Largest gRPC message that can be routed; each connection takes twice as much memory at most',
      ),
    }),
    ...group('Output', {
      out: required(text('FOLDER', 'Write haproxy.cfg and models.map to this folder')),
      json,
    }),
  },
  examples: [
    'cells haproxy out/cells/cells.json --cell cell-1=10.0.0.1,10.0.0.2 --cell cell-2=10.0.1.1,10.0.1.2 --host 0.0.0.0 --out front',
  ],
  notes: [
    'Writes a configuration of HAProxy 2.6 or newer that sends each request to a cell that has its model: HTTP by the ' +
      'path, gRPC by the name in the message. Check it with haproxy -c -f FOLDER/haproxy.cfg.',
  ],
});

export type CellsHaproxyArgs = ArgsOf<typeof usage>;
