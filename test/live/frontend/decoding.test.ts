import { afterEach, describe, expect, it } from 'vitest';
import { echoModel, FakeService } from './fake-service.js';
import { openGrpc, openHttp, tensor } from './fixtures.js';
import { GrpcClient } from './grpc-client.js';

const WIDE = echoModel('wide', false, [['x', 'FP32', [32_768]]]);
const DATA = Array.from({ length: 32_768 }, (_, i) => Math.fround(i / 7));
const HEADER = 'x-tenant';
const TENANTS = { header: HEADER, names: ['others', 'greedy', 'modest'] };
const GREEDY = 1;
const MODEST = 2;
/** Bodies of the greedy tenant at a time. */
const MANY = 24;

const clients: GrpcClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

/** Sends a large body as HTTP and gRPC clients of one address do. */
const TRANSPORTS = {
  async http(service: FakeService) {
    const { http } = await openHttp(service, { tenants: TENANTS });
    const body = JSON.stringify({ inputs: [tensor('x', 'FP32', [32_768], DATA)] });
    return (tenant: number): Promise<unknown> =>
      http.post('/v2/models/wide/infer', body, { [HEADER]: TENANTS.names[tenant] });
  },
  async grpc(service: FakeService) {
    const { port } = await openGrpc(service, { tenants: TENANTS });
    const input = { name: 'x', datatype: 'FP32', shape: [32_768], contents: { fp32_contents: DATA } };
    return (tenant: number): Promise<unknown> => {
      const client = new GrpcClient(port);
      clients.push(client);
      const request = { model_name: 'wide', inputs: [input] };
      return client.call('ModelInfer', request, { [HEADER]: TENANTS.names[tenant] });
    };
  },
};

describe.each(['http', 'grpc'] as const)('large bodies over %s', (transport) => {
  it('are decoded for the tenants of an address in turn', async () => {
    const service = new FakeService([WIDE]);
    const send = await TRANSPORTS[transport](service);
    const sent = Array.from({ length: MANY }, () => send(GREEDY));
    await Promise.all([...sent, send(MODEST)]);
    const order = service.requests.map(({ tenant }) => tenant);
    expect(order).toHaveLength(MANY + 1);
    expect(order.indexOf(MODEST)).toBeLessThan(MANY / 2);
  });
});
