import { describe, expect, it } from 'vitest';
import { DATATYPES, type Datatype } from '../../../src/live/model.js';
import { echoModel, FakeService } from './fake-service.js';
import { openHttp } from './fixtures.js';

const FLOATS = ['FP16', 'FP32', 'FP64'] as const;
const NAMES = Object.keys(DATATYPES) as Datatype[];
const service = () => new FakeService(NAMES.map((name) => echoModel(name, true, [['x', name, []]])));

/** The answer's status and the text between the brackets of its data. `data`: the same of the request. */
async function echoed(datatype: Datatype, data: string): Promise<[number, string]> {
  const { http } = await openHttp(service());
  const count = data.split(',').length;
  const body = `{"inputs":[{"name":"x","datatype":"${datatype}","shape":[${count}],"data":[${data}]}]}`;
  const response = await fetch(`http://127.0.0.1:${http.port}/v2/models/${datatype}/infer`, {
    method: 'POST',
    body,
  });
  const text = await response.text();
  return [response.status, /"data":\[(.*?)\]/.exec(text)?.[1] ?? JSON.parse(text).error];
}

describe('JSON both ways', () => {
  it('carries NaN and infinities as Triton writes them', async () => {
    for (const datatype of FLOATS) {
      expect(await echoed(datatype, 'NaN,Infinity,-Infinity,1')).toEqual([200, 'NaN,Infinity,-Infinity,1']);
      expect(await echoed(datatype, '-Inf,0.5')).toEqual([200, '-Infinity,0.5']);
    }
  });

  it('carries 64-bit integers to the last digit', async () => {
    const signed = '9007199254740993,-9007199254740993,9223372036854775807,-9223372036854775808,0';
    expect(await echoed('INT64', signed)).toEqual([200, signed]);
    expect(await echoed('INT64', '1e15,-2.5e1,5e0')).toEqual([200, '1000000000000000,-25,5']);
    const unsigned = '18446744073709551615,9007199254740993,1';
    expect(await echoed('UINT64', unsigned)).toEqual([200, unsigned]);
  });
});

describe('a zero', () => {
  it('keeps its sign', async () => {
    for (const datatype of FLOATS) expect(await echoed(datatype, '-0.0,0,1')).toEqual([200, '-0,0,1']);
    expect(await echoed('INT64', '-0.0')).toEqual([200, '0']);
  });
});

describe('what a datatype cannot hold is the client’s mistake, with input and index', () => {
  it.each<[Datatype, string, string]>([
    ['FP32', '1,1e39', 'input "x": element 1 is 1e+39, expected a number within the range of FP32'],
    [
      'FP32',
      '1e999',
      'input "x": element 0 is too large for a double, expected a number within the range of FP32',
    ],
    ['FP32', '9'.repeat(310), 'input "x": element 0 is too large for a double, expected a number within the'],
    ['INT64', '"1234567890123456"', 'element 0 is "1234567890123456", expected a whole number from -92233'],
    ['INT64', '1,1e19', 'element 1 is 10000000000000000000, expected a whole number from -92233'],
    ['INT64', '1,9007199254740993.5', 'element 1 is 9007199254740994, expected a whole number from -92233'],
    ['FP16', '65520', 'input "x": element 0 is 65520, expected a number within the range of FP16'],
    ['UINT8', '1,2,300', 'input "x": element 2 is 300, expected a whole number from 0 to 255'],
    ['INT32', '1.5', 'input "x": element 0 is 1.5, expected a whole number from -2147483648 to 2147483647'],
    ['INT8', 'NaN', 'input "x": element 0 is NaN, expected a whole number from -128 to 127'],
    ['BOOL', 'NaN', 'input "x": element 0 is NaN, expected true or false'],
    ['INT64', '9223372036854775808', 'element 0 is 9223372036854775808, expected a whole number from -92233'],
    [
      'UINT64',
      '-9007199254740993',
      'element 0 is -9007199254740993, expected a whole number from 0 to 18446',
    ],
    ['UINT64', '18446744073709551616', 'element 0 is 18446744073709551616, expected a whole number from 0'],
  ])('%s %s', async (datatype, data, error) => {
    const [status, text] = await echoed(datatype, data);
    expect([status, text]).toEqual([400, expect.stringContaining(error)]);
  });

  it('takes the largest that each can hold', async () => {
    expect(await echoed('FP32', '3.4028234663852886e38')).toEqual([200, '3.4028234663852886e+38']);
    expect(await echoed('FP16', '65519')).toEqual([200, '65504']);
    expect(await echoed('FP64', '1.7976931348623157e308')).toEqual([200, '1.7976931348623157e+308']);
  });
});
