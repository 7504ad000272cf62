import { expect, it } from 'vitest';
import { readConfigJson, readConfigPbtxt } from '../../../src/live/models/config-pbtxt.js';
import { tempDir, writeIn } from './fixtures.js';

const TENSOR = '{ name: "x", data_type: TYPE_INT64, dims: [ -1, 4 ] }';

it.each([
  ['max_batch_size: 4', '{"max_batch_size": "4", "default_model_filename": "", "optimization": {}}'],
  ['max_batch_size: 0', '{"maxBatchSize": "0", "dynamic_batching": null}'],
  [
    'max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 2, 4 ] }',
    '{"maxBatchSize": 8, "dynamicBatching": {"preferredBatchSize": ["2", 4], "maxQueueDelayMicroseconds": "0"}}',
  ],
  [`input ${TENSOR}`, '{"input": [{"name": "x", "dataType": "TYPE_INT64", "dims": ["-1", "4"]}]}'],
  [`output ${TENSOR}`, '{"output": [{"name": "x", "data_type": 9, "dims": [-1, 4], "label_filename": ""}]}'],
  ['version_policy { latest { num_versions: 2 } }', '{"versionPolicy": {"latest": {"numVersions": "2"}}}'],
  ['version_policy { specific { versions: 3 } }', '{"version_policy": {"specific": {"versions": ["3"]}}}'],
  [
    `model_warmup { name: "w" inputs { key: "X" value: ${TENSOR.replace('-1, ', '')} } }`,
    '{"modelWarmup": [{"name": "w", "inputs": {"X": {"name": "x", "dataType": "TYPE_INT64", "dims": ["4"]}}}]}',
  ],
  [
    'platform: "ensemble" ensemble_scheduling { step { model_name: "a" model_version: -1 input_map { key: "X" value: "Y" } input_map { key: "Z" value: "Y" } output_map { key: "O" value: "P" } } }',
    '{"platform": "ensemble", "ensembleScheduling": {"step": [{"modelName": "a", "modelVersion": "-1", "inputMap": {"X": "Y", "Z": "Y"}, "output_map": {"O": "P"}}]}}',
  ],
])('%s is read in the JSON of protobuf, too', (text, json) => {
  const file = writeIn(tempDir(), 'm/config.pbtxt', text);
  expect(readConfigJson(json, 'm')).toEqual({ ...readConfigPbtxt(file, 'm'), path: 'config' });
});

it.each([
  ['{"max_batch_size": "four"}', 'max_batch_size: must be a whole number'],
  ['{"maxBatchSize": ["1", "2"]}', 'max_batch_size: is given twice'],
  ['{"instanceGroup": [{"count": "2"}]}', 'instance_group: has no counterpart here: leave it out'],
  ['{"model_warmup": [{"inputs": {"X": "Y"}}]}', 'value: must be a section in braces'],
])('%s is refused in a line', (json, why) => {
  expect(() => readConfigJson(json, 'm')).toThrow(why);
});
