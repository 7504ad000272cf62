import { describe, expect, it } from 'vitest';
import { readModelFile } from '../../../src/live/models/repository.js';
import { ELEMENT_TYPES, failure, identityModel, tempDir, writeIn } from './fixtures.js';

/** Writes a model whose output y has names for its classes, and reads it. */
function read(labels: string | Uint8Array | null, shape: readonly (string | number)[] = ['batch', 3]) {
  const dir = tempDir();
  const path = writeIn(dir, 'm/1/model.onnx', identityModel(ELEMENT_TYPES.FP32, [...shape]));
  writeIn(dir, 'm/config.yaml', 'labels: { y: classes.txt }');
  if (labels !== null) writeIn(dir, 'm/classes.txt', labels);
  return readModelFile(path);
}

describe('names of classes', () => {
  it.each([
    ['lines', 'cat\ndog\nfox\n', ['cat', 'dog', 'fox']],
    ['no end of the last line', 'cat\ndog\nfox', ['cat', 'dog', 'fox']],
    ['lines of Windows, with a mark at the start', '\ufeffcat\r\ndog\r\nfox\r\n', ['cat', 'dog', 'fox']],
    ['any language', 'Kätzchen\n狗\n🦊\n', ['Kätzchen', '狗', '🦊']],
    ['more than there are classes', 'cat\ndog\nfox\nowl\n', ['cat', 'dog', 'fox', 'owl']],
  ])('are read line by line: %s', async (_, text, labels) => {
    expect((await read(text)).labels).toEqual([labels]);
  });

  it.each([
    ['missing', null, 'E_FILE_MISSING', /classes\.txt: no such file of labels/],
    ['empty', '', 'E_CONFIG_VALUE', /output y has 3 classes, and there are labels for 0/],
    ['too short', 'cat\ndog\n', 'E_CONFIG_VALUE', /output y has 3 classes, and there are labels for 2/],
    ['Latin-1', Buffer.from('K\xe4tzchen\ndog\nfox\n', 'latin1'), 'E_CONFIG_VALUE', /must be UTF-8 text/],
    ['UTF-16', Buffer.from('\ufeffcat\ndog\nfox\n', 'utf16le'), 'E_CONFIG_VALUE', /must be UTF-8 text/],
  ])('are refused with file and reason when the model is loaded: %s', async (_, labels, code, message) => {
    const error = await failure(read(labels));
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(error.message).toContain('m/classes.txt');
  });

  it('are counted for all elements of a row, where no request chooses a size', async () => {
    expect((await failure(read('a\nb\nc\n', ['batch', 2, 2]))).message).toContain('y has 4 classes');
    expect((await read('a\nb\nc\nd\n', ['batch', 2, 2])).labels).toEqual([['a', 'b', 'c', 'd']]);
    expect((await read('a\n', ['batch', 'width'])).labels).toEqual([['a']]);
  });
});
