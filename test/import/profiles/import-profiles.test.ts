import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DISK_FILES } from '../../../src/base/files/disk-files.js';
import type { Profile } from '../../../src/config/profile.js';
import { type Action, STATUS_OK } from '../../../src/core/action.js';
import { Controller } from '../../../src/core/controller.js';
import type { ModelSpec } from '../../../src/core/model.js';
import { type ImportProfilesOptions, importProfiles } from '../../../src/import/profiles/import-profiles.js';
import { JournalWriter } from '../../../src/live/journal/journal-writer.js';
import { header, journalPath, record } from '../../live/journal/fixtures.js';
import { createPolicy } from '../../sim/fixtures.js';
import { failure, scratch } from '../../workload/support.js';

const { folder, file } = scratch();
let outputs = 0;

const NOTHING: ImportProfilesOptions = {
  ...{ model: undefined, gpu: undefined, precision: undefined, batch: undefined },
  ...{ unit: undefined, where: [], spread: undefined },
};

async function imported(paths: string | string[], options: Partial<ImportProfilesOptions> = {}) {
  const out = join(folder, `out-${outputs++}`);
  const result = await importProfiles(DISK_FILES, [paths].flat(), out, { ...NOTHING, ...options });
  const profiles = result.written.map(({ path }): Profile => JSON.parse(readFileSync(path, 'utf8')));
  return { ...result, out, profiles };
}

const curve = ({ batches }: Profile) => batches.map(({ batch, medianMs }) => [batch, medianMs]);

const MEASUREMENTS = `model,gpu,batch,latency_ms,weights_mb
resnet50,t4,1,4.2,98
resnet50,t4,8,21.8,98
resnet50,a10,1,1.9,98
resnet50,a10,4,5.2,98
bert-base,t4,2,19.5,418
bert-base,t4,8,70.2,418
`;

it('makes a profile for each model and GPU of a table, and lines for an experiment', async () => {
  const { profiles, models, kinds, notes, out } = await imported(file('m.csv', MEASUREMENTS));
  expect(kinds).toEqual(['t4', 'a10']);
  expect(models).toEqual([
    {
      kind: 'profile',
      path: join(out, 'resnet50.t4.json'),
      profiles: { a10: join(out, 'resnet50.a10.json') },
    },
    { kind: 'profile', path: join(out, 'bert-base.t4.json') },
  ]);
  const [resnet, , bert] = profiles as [Profile, Profile, Profile];
  expect(curve(resnet)).toEqual([
    [1, 4.2],
    // Between 1 and 8, because the other GPU has it.
    [4, 11.7429],
    [8, 21.8],
  ]);
  // On the line through 2 and 8: 19.5 - (70.2 - 19.5) / 6.
  expect(curve(bert)).toEqual([
    [1, 11.05],
    [2, 19.5],
    [8, 70.2],
  ]);
  expect([resnet.weightsBytes, bert.weightsBytes]).toEqual([98e6, 418e6]);
  const text = notes.join('\n');
  expect(text).toContain('bert-base on t4 (11.05 ms): batch 1 was not measured, and is extrapolated');
  expect(text).toContain('bert-base was not measured on a10');
});

it('knows columns for batch sizes, units, and other titles', async () => {
  const wide = 'network;b1_us;b4_us;load_ms;input_kb\nnet;1500;4000;8;600\n';
  const [net] = (await imported(file('wide.csv', wide))).profiles as [Profile];
  expect(net).toMatchObject({ name: 'net', gpu: 'unknown', loadMs: 8, inputBytes: 600_000 });
  expect(curve(net)).toEqual([
    [1, 1.5],
    [4, 4],
  ]);
  const tabs = 'model\tbatch size\tlat_p50_ms\tlat_p99_ms\tlat_avg_ms\nm\t1\t2\t2.5\t2.1\n';
  expect((await imported(file('tabs.tsv', tabs))).profiles[0]!.batches).toEqual([
    { batch: 1, medianMs: 2, p99Ms: 2.5 },
  ]);
  const deviations = 'model,batch,forward_latency_ms,std_ms\nm,1,2,0.1\n';
  const { p90Ms, p99Ms } = (await imported(file('std.csv', deviations))).profiles[0]!.batches[0]!;
  expect([p90Ms, p99Ms]).toEqual([2.12816, 2.23263]);
});

it('asks for a unit, a batch size or a column that it cannot know', async () => {
  const path = file('unitless.csv', 'model,batch,latency\nm,1,3\n');
  expect(await failure(() => imported(path))).toEqual({
    code: 'E_PROFILE',
    message: `${path}:1: latency: has no unit: give --unit ms, us, ns or s`,
  });
  expect(curve((await imported(path, { unit: 's' })).profiles[0]!)).toEqual([[1, 3000]]);
  for (const wrong of ['latency_ms\nm,1,0.0042\n', 'latency_s\nm,1,4.2\n'])
    expect((await imported(file('wrong.csv', `model,batch,${wrong}`))).notes.join()).toContain(
      'which is unusual: is the unit of the times right?',
    );
  const noBatch = file('sizes.csv', 'model,latency_ms\nm,3\n');
  expect((await failure(() => imported(noBatch))).message).toBe(
    `${noBatch}:2: has no batch size: give --batch, or name the file NAME_b8.csv`,
  );
  const noLatency = file('none.csv', 'model,batch,colour\nm,1,red\n');
  expect((await failure(() => imported(noLatency))).message).toContain('has no known column of latencies');
});

it('refuses what is no measurement, with line and column, and writes nothing', async () => {
  const cases: [string, string][] = [
    ['model,batch,latency_ms\nm,1,fast\n', ':2: latency_ms: must be a number, at least 0, found "fast"'],
    ['model,batch,latency_ms\nm,1\n', ':2: has 2 fields, and the header names 3'],
    ['model,batch,latency_ms\nm,1.5,2\n', ':2: batch: must be a whole number of at least 1, found 1.5'],
    ['model,batch,latency_ms\n', ':1: has no row with a latency'],
    ['', ': is empty'],
    [
      '{"a": 1}',
      ': is JSON of an unknown kind; known are times of trtexec, exports of perf_analyzer, and journals',
    ],
    ['{"experiments": "none"}', ': has no times'],
    ['[{"computeMs": "x"}]', ': has no times'],
    ['{"experiments": [', 'is not valid JSON'],
  ];
  for (const [i, [text, message]] of cases.entries()) {
    const path = file(`bad-${i}_b1.csv`, text);
    const out = join(folder, `never-${i}`);
    const failed = await failure(() => importProfiles(DISK_FILES, [path], out, NOTHING));
    expect(failed.message).toContain(message);
    expect(failed.code).toBe('E_PROFILE');
    expect(existsSync(out)).toBe(false);
  }
});

it('takes rows with --where, and the least loaded of several for a batch', async () => {
  const table =
    'Model,Batch,Concurrency,Throughput (infer/sec),p99 Latency (ms),GPU\n' +
    'r,1,2,195,11,t4\nr,1,1,164,8.1,t4\nr,1,1,10,900,v100\n';
  const path = file('analyzer.csv', table);
  const { profiles } = await imported(path, { where: [['GPU', 't4']] });
  expect(profiles).toHaveLength(1);
  expect(profiles[0]!.batches).toEqual([{ batch: 1, medianMs: 6.09756, p99Ms: 8.1 }]);
  expect((await failure(() => imported(path, { where: [['gpu', 't4']] }))).message).toContain(
    'has no column gpu; it has Model, Batch',
  );
});

it('reads a column of lengths into a table for each', async () => {
  const text = `model,gpu,batch,seq_len,latency_ms
bert,t4,1,512,12
bert,t4,4,512,48
bert,t4,1,64,4.6
bert,t4,4,64,10.6
bert,a10,1,512,6
bert,a10,2,512,11
bert,a10,4,512,21
bert,a10,1,64,3
bert,a10,2,64,4
bert,a10,4,64,5
`;
  const { profiles, notes } = await imported(file('lengths.csv', text));
  const [t4, a10] = profiles as [Profile, Profile];
  expect([t4.length, t4.shorter?.map(({ length }) => length)]).toEqual([512, [64]]);
  expect(curve(t4)).toEqual([
    [1, 12],
    [2, 24],
    [4, 48],
  ]);
  expect(curve({ ...t4, ...t4.shorter![0]! })).toEqual([
    [1, 4.6],
    [2, 6.6],
    [4, 10.6],
  ]);
  expect(a10.shorter!.map(({ batches }) => batches.length)).toEqual([3]);
  const other = await failure(() => imported(file('other.csv', text.replaceAll(/(a10,\d),64/g, '$1,32'))));
  expect(other.message).toContain('bert was measured with lengths 64, 512 on t4 and lengths 32, 512 on a10');
  expect(notes.join()).toContain('inputs of lengths 64 and 512; the table below is of the longest');
  expect(notes.join()).not.toMatch(/not used|several rows/);
  const same = await imported(file('same.csv', text.replaceAll(',64,', ',512,')));
  expect(same.profiles.map((profile) => profile.length)).toEqual([undefined, undefined]);
  expect(same.notes.join()).toContain('only inputs of length 512 were measured');
  const uneven = await imported(file('uneven.csv', `${text}bert,t4,8,64,20\n`));
  expect(uneven.profiles).toEqual(
    profiles.map((profile) => expect.objectContaining({ batches: profile.batches })),
  );
  expect(uneven.notes.join()).toContain('batch sizes that were not measured at every length are left out');
  const gap = await failure(() => imported(file('gap.csv', `${text}bert,t4,8,,90\n`)));
  expect(gap.message).toContain('bert on t4 has rows with a length and rows without');
});

it('reads the CSV of perf_analyzer: computing on the server, with the spread of clients', async () => {
  const csv =
    'Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,' +
    'Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency\n' +
    '2,114.8,127,969,7638,158,8525,6,0,17449,17661,17720,17800\n' +
    '1,105,118,962,21,168,8233,5,0,9539,9714,9758,9796\n';
  const { profiles, notes } = await imported(file('inception-b4.csv', csv), { gpu: 'T4' });
  const [profile] = profiles as [Profile];
  expect([profile.name, profile.gpu]).toEqual(['inception', 'T4']);
  expect(profile.batches[1]).toEqual({ batch: 4, medianMs: 8.233, p90Ms: 8.408, p99Ms: 8.49 });
  expect(notes.join()).toContain('recognized as perf_analyzer CSV');
});

it('reads the JSON export of perf_analyzer at its lowest load', async () => {
  const of = (value: number, ms: number[]) => ({
    experiment: { mode: 'concurrency', value },
    requests: ms.map((each) => ({ timestamp: 1e9, response_timestamps: [1e9 + each * 1e6] })),
    window_boundaries: [1, 2],
  });
  const text = JSON.stringify({ experiments: [of(4, [9, 9]), of(1, [3, 1, 2])], version: '1.2.3' });
  const [profile] = (await imported(file('net_b1.json', text))).profiles as [Profile];
  expect(profile.batches).toEqual([
    { batch: 1, minMs: 1, medianMs: 2, p90Ms: 3, p99Ms: 3, maxMs: 3, runs: 3 },
  ]);
});

describe('trtexec', () => {
  const LOG = `&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=models/yolo.onnx --shapes=in:8x3x640x640 --fp16
[05/01/2024-10:00:00] [I] Selected Device: NVIDIA A10
[05/01/2024-10:00:01] [I] [TRT] Loaded engine size: 40 MiB
[05/01/2024-10:00:09] [I] === Performance summary ===
[05/01/2024-10:00:09] [I] H2D Latency: min = 3.38 ms, max = 3.40 ms, mean = 3.39 ms, median = 3.39 ms
[05/01/2024-10:00:09] [I] GPU Compute Time: min = 21.45 ms, max = 26.47 ms, mean = 22.49 ms, median = 22.04 ms, percentile(90%) = 24.1 ms, percentile(95%) = 24.49 ms, percentile(99%) = 26.16 ms
`;

  it('has the time of the GPU, model, batch and device in its log', async () => {
    const [profile] = (await imported(file('some.log', LOG))).profiles as [Profile];
    expect(profile).toMatchObject({
      ...{
        name: 'yolo',
        gpu: 'NVIDIA A10',
        precision: 'fp16',
        runtime: 'TensorRT',
        weightsBytes: 40 * 2 ** 20,
      },
    });
    expect(profile.batches[1]).toEqual({
      ...{ batch: 8, minMs: 21.45, medianMs: 22.04, p90Ms: 24.1, p99Ms: 26.16, maxMs: 26.47 },
    });
    const older = LOG.replace(/, percentile\(90%\).*(?=\n)/, ', percentile(99%) = 26.16 ms');
    expect((await imported(file('older.log', older))).profiles[0]!.batches[1]!.p99Ms).toBe(26.16);
  });
});

it('reads the summary of MLPerf where it has the time of a batch', async () => {
  const summary = (scenario: string, samples: number) => `================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : ${scenario}
90th percentile latency (ns) : 4751920830

Min latency (ns)                : 2000000
Max latency (ns)                : 9000000
Mean latency (ns)               : 3100000
50.00 percentile latency (ns)   : 3000000
90.00 percentile latency (ns)   : 4000000
99.00 percentile latency (ns)   : 6000000

samples_per_query : ${samples}
`;
  const [one] = (await imported(file('bert.txt', summary('SingleStream', 1)))).profiles as [Profile];
  expect(one.batches).toEqual([{ batch: 1, minMs: 2, medianMs: 3, p90Ms: 4, p99Ms: 6, maxMs: 9 }]);
  const [eight] = (await imported(file('bert8.txt', summary('MultiStream', 8)))).profiles as [Profile];
  expect(eight.batches[1]).toMatchObject({ batch: 8, medianMs: 3 });
  expect((await failure(() => imported(file('offline.txt', summary('Offline', 24576))))).message).toContain(
    'is of scenario Offline',
  );
});

it('reads the durations of INFERs and LOADs in a journal of ours', async () => {
  const recording = await record(header('fifo'));
  const { profiles, notes } = await imported(recording.path, { gpu: 'T4' });
  const names = header('fifo').models.map(({ name }) => name);
  expect(profiles.map(({ name }) => name).sort()).toEqual([...names].sort());
  for (const profile of profiles) {
    const spec = header('fifo').models.find(({ name }) => name === profile.name)!;
    expect([profile.gpu, profile.weightsBytes]).toEqual(['T4', spec.weightsBytes]);
    for (const { batch, runs } of profile.batches) {
      expect(spec.batchSizes).toContain(batch);
      if (batch > 1) expect(runs).toBeGreaterThan(0);
    }
  }
  expect(notes[0]).toContain('recognized as journal');
});

it('reads the durations in a journal for each length that inputs were padded to', async () => {
  const [spec] = header('fifo').models as [ModelSpec];
  const execNsByLength = [spec.execNs.map((ns) => ns / 2), spec.execNs];
  const head = header('fifo', { gpus: 1, models: [{ ...spec, lengths: [16, 64], execNsByLength }] });
  const journal = new JournalWriter(journalPath(), head, () => {});
  const sent: Action[] = [];
  const { defaultSloNs, admission, missedWindow } = head;
  const controller = new Controller({
    ...{ cluster: head, defaultSloNs, admission, missedWindow },
    createPolicy: createPolicy('fifo', head.policy.options),
    port: { send: (action) => sent.push(action), answer: () => {} },
  });
  let nowNs = 0;
  for (const length of [16, 64, 16]) {
    journal.offer(0, nowNs, 1e9, 0, null, 0, 0, length);
    controller.offer(0, nowNs, 1e9, 0, 0, 0, length);
    while (controller.requests.size > 0) {
      journal.step(nowNs);
      controller.step(nowNs);
      const action = sent.shift();
      if (action === undefined) nowNs = Math.min(controller.nextWakeNs(nowNs), nowNs + 1e6);
      else {
        const endNs = nowNs + length * 1e5;
        Object.assign(action, { status: STATUS_OK, beginNs: nowNs, endNs, clock: 1 });
        journal.result(action);
        controller.result(action);
        nowNs = endNs;
      }
    }
  }
  await journal.close(controller.digest);
  const { profiles } = await imported(journal.path);
  expect(profiles).toMatchObject([
    {
      ...{ length: 64, batches: [{ batch: 1, medianMs: 6.4, runs: 1 }] },
      shorter: [{ length: 16, batches: [{ batch: 1, medianMs: 1.6, runs: 2 }] }],
    },
  ]);
});

it('lets a file say what it knows itself, and options fill the rest', async () => {
  const log =
    '[I] === Performance summary ===\n[I] GPU Compute Time: min = 1 ms, max = 3 ms, median = 2 ms\n';
  const said = `trtexec --onnx=a.onnx --shapes=x:4x3 --int8\n[I] Selected Device: A10\n${log}`;
  const options = { model: 'b', gpu: 'T4', precision: 'fp16', batch: 1 };
  const [own] = (await imported(file('own.log', said), options)).profiles as [Profile];
  expect([own.name, own.gpu, own.precision, own.batches[1]!.batch]).toEqual(['a', 'A10', 'int8', 4]);
  const [filled] = (await imported(file('filled.log', log), options)).profiles as [Profile];
  expect([filled.name, filled.gpu, filled.precision, filled.batches[0]!.batch]).toEqual([
    'b',
    'T4',
    'fp16',
    1,
  ]);
});

it('takes the size of a model file that lies next to the measurements', async () => {
  file('sized.onnx', Buffer.alloc(12_000));
  file('sized.onnx.data', Buffer.alloc(345));
  // The same model in another format.
  file('sized.plan', Buffer.alloc(99_999));
  const path = file('near.csv', 'model,batch,latency_ms\nsized,1,2\nother,1,2\n');
  const { profiles, notes } = await imported(path);
  expect(profiles[0]!.weightsBytes).toBe(12_345);
  expect(profiles[0]!.source.weights).toContain('sized.onnx');
  expect(notes.join()).toContain('other: the weights are not known');
});
