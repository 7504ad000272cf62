import { cpSync, mkdirSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fileDigest, modelContent } from '../../../src/live/models/digest.js';
import { DiskCheckedService } from '../../../src/live/models/disk-checked-service.js';
import { ModelsOnDisk } from '../../../src/live/models/models-on-disk.js';
import type { Precision } from '../../../src/live/models/precision.js';
import { ELEMENT_TYPES, identityModel, scalingModel, tempDir, writeIn } from '../models/fixtures.js';
import { echoModel, FakeService } from './fake-service.js';
import { openGrpc, openHttp } from './fixtures.js';
import { GrpcClient } from './grpc-client.js';

const FIRST = identityModel(ELEMENT_TYPES.FP32, ['n', 4]);
/** Of the same size. */
const SECOND = identityModel(ELEMENT_TYPES.FP32, ['n', 5]);

/** Both frontends of a server that loaded version 1 of `mlp` from a repository. */
async function serve(precision: Precision = 'fp32', onnx = FIRST) {
  const dir = join(tempDir(), 'repository');
  const onnxPath = writeIn(dir, precision === 'fp16' ? 'mlp/1/fp16/model.onnx' : 'mlp/1/model.onnx', onnx);
  writeIn(dir, 'mlp/1/weights.bin', new Uint8Array(Float32Array.of(2).buffer));
  const settingsPath = writeIn(dir, 'mlp/config.yaml', 'slo: 5s\n');
  const source = {
    name: 'mlp',
    version: '1',
    onnxPath,
    content: modelContent(onnxPath),
    settings: fileDigest(settingsPath),
  };
  const repository = new ModelsOnDisk({ dir, precision, models: [source] });
  const fake = new FakeService([echoModel('mlp', true, [['x', 'FP32', [4]]])]);
  const service = new DiskCheckedService(fake, repository);
  const { http } = await openHttp(service);
  const client = new GrpcClient((await openGrpc(service)).port);
  onTestFinished(() => client.close());
  /** What both frontends answer to a load. */
  const load = async (name = 'mlp') => {
    const { status: code, json } = await http.post(`/v2/repository/models/${encodeURIComponent(name)}/load`);
    const overGrpc = await client.call('RepositoryModelLoad', { model_name: name }).then(
      () => ({ code: status.OK, details: undefined }),
      ({ code, details }) => ({ code, details }),
    );
    expect(overGrpc.details).toBe(json?.error);
    return { http: code, grpc: overGrpc.code, error: json?.error };
  };
  return { dir, onnxPath, http, load };
}

const LOADED = { http: 200, grpc: status.OK, error: undefined };
const refused = (error: string) => ({ http: 409, grpc: status.FAILED_PRECONDITION, error });
const GOES_ON = 'until then it goes on serving version "1" as loaded at its start';

describe('loading a model', () => {
  it('succeeds while its files have the content that was loaded, whatever their times', async () => {
    const { onnxPath, load } = await serve();
    expect(await load()).toEqual(LOADED);
    utimesSync(onnxPath, 2_000_000_000, 2_000_000_000);
    expect(await load()).toEqual(LOADED);
  });

  it('is refused when its file was replaced, even by one of the same size and time, until it is put back', async () => {
    const { dir, onnxPath, http, load } = await serve();
    expect(SECOND.length).toBe(FIRST.length);
    utimesSync(onnxPath, 1_500_000_000, 1_500_000_000);
    writeIn(dir, 'mlp/1/model.onnx', SECOND);
    utimesSync(onnxPath, 1_500_000_000, 1_500_000_000);
    const changed =
      'model "mlp" has changed on disk since the server loaded it: restart the server to serve the new files';
    expect(await load()).toEqual(refused(`${changed}; ${GOES_ON}`));
    expect((await http.get('/v2/models/mlp/ready')).status).toBe(200);
    await http.post('/v2/repository/models/mlp/unload');
    expect(await load()).toEqual(refused(`${changed}; until then the model stays unloaded`));
    expect((await http.get('/v2/models/mlp/ready')).status).toBe(400);
    writeIn(dir, 'mlp/1/model.onnx', FIRST);
    expect(await load()).toEqual(LOADED);
    expect((await http.get('/v2/models/mlp/ready')).status).toBe(200);
  });

  it('is refused when weights in another file were replaced', async () => {
    const { dir, load } = await serve('fp32', scalingModel('weights.bin'));
    expect(await load()).toEqual(LOADED);
    writeIn(dir, 'mlp/1/weights.bin', new Uint8Array(Float32Array.of(3).buffer));
    expect((await load()).error).toContain('model "mlp" has changed on disk');
  });

  it('is refused when its settings have changed', async () => {
    const { dir, load } = await serve();
    writeIn(dir, 'mlp/config.yaml', 'slo: 6s\n');
    const changed =
      'the config.yaml of model "mlp" has changed since the server started: restart the server to apply it';
    expect(await load()).toEqual(refused(`${changed}; ${GOES_ON}`));
    rmSync(join(dir, 'mlp/config.yaml'));
    expect((await load()).http).toBe(409);
  });

  it('is refused when another version is the highest', async () => {
    const { dir, http, load } = await serve();
    mkdirSync(join(dir, 'mlp/10'));
    expect(await load()).toEqual(LOADED);
    cpSync(join(dir, 'mlp/1'), join(dir, 'mlp/10'), { recursive: true });
    const other = 'the highest version of model "mlp" on disk is now "10": restart the server to serve it';
    expect(await load()).toEqual(refused(`${other}; ${GOES_ON}`));
    expect(await http.get('/v2/models/mlp/versions/10/ready')).toMatchObject({
      status: 404,
      json: { error: 'version "10" of model "mlp" is not served, but version "1" is' },
    });
  });

  it.each(['mlp', '.'])(
    'is refused when %s was deleted; the model stays ready, for it is served',
    async (what) => {
      const { dir, http, load } = await serve();
      rmSync(join(dir, what), { recursive: true });
      const gone =
        'the files of model "mlp" are gone from the repository: put them back, or restart the server to serve without it';
      expect(await load()).toEqual(refused(`${gone}; ${GOES_ON}`));
      expect((await http.get('/v2/models/mlp/ready')).status).toBe(200);
      expect((await http.post('/v2/repository/index')).json).toMatchObject([{ name: 'mlp', state: 'READY' }]);
    },
  );

  it('looks for the precision that is served', async () => {
    const { dir, load } = await serve('fp16');
    expect(await load()).toEqual(LOADED);
    renameSync(join(dir, 'mlp/1/fp16/model.onnx'), join(dir, 'mlp/1/model.onnx'));
    expect((await load()).error).toContain('are gone');
  });

  it('says of a model that was added later that a restart will serve it', async () => {
    const { dir, load } = await serve();
    cpSync(join(dir, 'mlp'), join(dir, 'later'), { recursive: true });
    const added =
      'model "later" is in the repository but was not there when the server started: restart the server to serve it';
    expect(await load('later')).toEqual(refused(added));
  });

  it.each(['other', 'empty', '.hidden', '../outside', 'mlp/../mlp', ''])('does not know %j', async (name) => {
    const { dir, load } = await serve();
    mkdirSync(join(dir, 'empty'));
    cpSync(join(dir, 'mlp'), join(dir, '.hidden'), { recursive: true });
    cpSync(join(dir, 'mlp'), join(dir, '../outside'), { recursive: true });
    expect(await load(name)).toEqual({
      http: 404,
      grpc: status.NOT_FOUND,
      error: `unknown model ${JSON.stringify(name)}`,
    });
  });
});
