import { describe, expect, it } from 'vitest';
import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import { OUTCOME_REJECTED } from '../../../src/core/request.js';
import { LIMIT_RATE } from '../../../src/core/tenants.js';
import { overLimit } from '../../../src/live/controller/not-executed.js';
import { TurnedAway } from '../../../src/live/frontend/turned-away.js';
import { echo, echoModel, FakeService } from './fake-service.js';
import { openHttp, tensor } from './fixtures.js';

const ELEMENTS = 32_768;
const WIDE = echoModel('wide', false, [['x', 'FP32', [ELEMENTS]]]);
const SMALL = echoModel('small', false, [['x', 'FP32', [4]]]);
const DATA = Array.from({ length: ELEMENTS }, (_, i) => Math.fround(i / 7));
const HEADER = 'x-tenant';
const TENANTS = {
  header: HEADER,
  list: ['others', 'greedy', 'modest'].map((name) => ({ name, rateRps: 5, burst: 2 })),
};
const GREEDY = 1;
const LIMITED = { ...TENANTS.list[GREEDY], share: 1 };
const MODEST = 2;
/** Bodies of the greedy tenant at a time. */
const MANY = 16;
/** An SLO that has passed before a large body is there. */
const SOON_MS = 2;
/** Bodies of clients that have time. */
const FEW = 6;

interface Ask {
  readonly tenant?: number;
  readonly model?: 'wide' | 'small';
  /** Of a JSON body. */
  readonly parameters?: string;
}

/** Sends a request as HTTP clients of one address do; resolves with '', or with why it was refused. */
const TRANSPORTS = {
  async http(service: FakeService, defaultSloNs = NS_PER_S, turnedAway = new TurnedAway()) {
    const { http } = await openHttp(service, { tenants: TENANTS, defaultSloNs }, turnedAway);
    return async ({ tenant = GREEDY, model = 'wide', parameters = '{}' }: Ask): Promise<string> => {
      const inputs = JSON.stringify([inputOf(model)]);
      const body = `{"inputs":${inputs},"parameters":${parameters}}`;
      const headers = { [HEADER]: TENANTS.list[tenant].name };
      const { status, json } = await http.post(`/v2/models/${model}/infer`, body, headers);
      return status === 200 ? '' : `${status} ${json.error}`;
    };
  },
};

function inputOf(model: 'wide' | 'small') {
  return model === 'wide'
    ? { ...tensor('x', 'FP32', [ELEMENTS], DATA), data: DATA }
    : { ...tensor('x', 'FP32', [4], [1, 2, 3, 4]), data: [1, 2, 3, 4] };
}

describe.each([['http', 504, 429]] as const)('large bodies over %s', (transport, timeout, overRate) => {
  it('are decoded for the tenants of an address in turn', async () => {
    const service = new FakeService([WIDE]);
    const send = await TRANSPORTS[transport](service, 60 * NS_PER_S);
    const sent = Array.from({ length: MANY }, () => send({}));
    await Promise.all([...sent, send({ tenant: MODEST })]);
    const order = service.requests.map(({ tenant }) => tenant);
    expect(order).toHaveLength(MANY + 1);
    expect(order.indexOf(MODEST)).toBeLessThan(MANY / 2);
  });

  it('are not decoded any more once their SLO has passed', async () => {
    const service = new FakeService([WIDE]);
    const turnedAway = new TurnedAway();
    const send = await TRANSPORTS[transport](service, SOON_MS * NS_PER_MS, turnedAway);
    const answers = await Promise.all(Array.from({ length: MANY }, () => send({})));
    const refused = answers.filter((answer) => answer !== '');
    expect(refused.length).toBeGreaterThan(0);
    const passed = `${timeout} the SLO of ${SOON_MS} ms could not be met: \\d+\\.\\d{3} ms had passed, of which`;
    const why = new RegExp(
      `^${passed} the body waited \\d+\\.\\d{3} ms to be decoded, behind .*; send fewer or smaller bodies at a time, or tensors as binary data$`,
    );
    for (const answer of refused) expect(answer).toMatch(why);
    expect(service.requests).toHaveLength(MANY - refused.length);
    expect(turnedAway.take()).toEqual([{ why: 'decoding', who: 'greedy', count: refused.length }]);
  });

  it('of a tenant over its rate are refused undecoded until it may send again, its small ones by the scheduler', async () => {
    const service = new FakeService([WIDE, SMALL]);
    service.answer = (request) =>
      request.tenant === GREEDY ? overLimit(LIMIT_RATE, LIMITED, 60 * NS_PER_S, 0) : echo(request);
    const turnedAway = new TurnedAway();
    const send = await TRANSPORTS[transport](service, NS_PER_S, turnedAway);
    const limit = 'the tenant greedy is over its rate of 5/s with bursts of 2';
    const said = `${overRate} ${limit}: it may send again in (60000|5\\d{4}) ms`;
    const why = new RegExp(`^${said}$`);
    expect(await send({})).toMatch(why);
    expect(service.requests).toHaveLength(1);
    const undecoded = '; until then its bodies of more than 64 KiB are refused undecoded';
    expect(await send({})).toMatch(new RegExp(`^${said}${undecoded}$`));
    expect(turnedAway.take()).toEqual([{ why: 'rate', who: 'greedy', count: 1 }]);
    expect(service.requests).toHaveLength(1);
    expect(await send({ model: 'small' })).toMatch(why);
    expect(await send({ tenant: MODEST })).toBe('');
    expect(service.requests).toHaveLength(3);
    service.answer = (request) =>
      request.tenant === GREEDY ? overLimit(LIMIT_RATE, LIMITED, 1, 0) : echo(request);
    await send({ model: 'small' });
    service.answer = echo;
    expect(await send({})).toBe('');
  });
});

it.each(['http'] as const)('a refusal over %s says how long decoding took', async (transport) => {
  const service = new FakeService([WIDE]);
  service.answer = (request) => ({
    ...{ outcome: OUTCOME_REJECTED, outputs: [], batchSize: 0, error: '' },
    predictedNs: 2 * request.sloNs,
  });
  const send = await TRANSPORTS[transport](service);
  const answers: string[] = [];
  for (let sloMs = 2; sloMs < 10_000; sloMs *= 4)
    answers.push(await send({ parameters: `{"slo_ms":${sloMs}}` }));
  const text = expect.stringMatching(
    / cannot be met: .*; \d+\.\d{3} ms passed until its large body was received and decoded/,
  );
  expect(answers).toContainEqual(text);
});

it.each(['{"slo_ms":60000}', '{"timeout":60000000}', '{"slo\\u005fms":60000}'])(
  'JSON that names its own SLO is decoded after the default one: %s',
  async (parameters) => {
    const service = new FakeService([WIDE]);
    const send = await TRANSPORTS.http(service, SOON_MS * NS_PER_MS);
    const answers = await Promise.all(Array.from({ length: FEW }, () => send({ parameters })));
    expect(new Set(answers)).toEqual(new Set(['']));
  },
);
