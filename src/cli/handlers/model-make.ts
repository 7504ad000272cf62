import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { formatBytes, formatCount } from '../../config/units-text.js';
import { makeModel } from '../../live/models/make/make-model.js';
import { modelFile } from '../../live/models/precision.js';
import { writeOut } from '../../text/terminal.js';
import type { ModelMakeArgs } from '../commands/model-make.js';

/** `escapement model make ARCHITECTURE`: a real architecture with random weights, to try things out. */
export function run(args: ModelMakeArgs): void {
  const name = modelName(args.name ?? args.architecture);
  const { precision } = args;
  const path = modelFile(join(args.repository, name, String(args['model-version'])), precision);
  if (existsSync(path) && !args.force) {
    throw new EscapementError('E_FILE_WRITE', 'already exists; --force replaces it', { file: path });
  }
  checkWritable(path);
  const { onnx, parameters, settings } = makeModel(args.architecture, {
    input: args.input,
    classes: args.classes,
    seed: args.seed,
    precision,
  });
  writeWhole(path, onnx);
  const written =
    settings === null ? null : writeSettings(join(args.repository, name, 'config.yaml'), settings);
  writeOut(
    args.json
      ? `${JSON.stringify({ path, parameters, bytes: onnx.length, settings: written })}\n`
      : `${formatCount(parameters)} parameters, ${formatBytes(onnx.length)} written to ${path}\n` +
          (written === null ? '' : `its lengths, and how they are padded, written to ${written}\n`),
  );
}

/** The path; null: there is such a file, and what it says stays. */
function writeSettings(path: string, settings: string): string | null {
  if (existsSync(path)) return null;
  writeWhole(path, settings);
  return path;
}

/** A name that can be a folder and part of a URL. */
function modelName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]*$/.test(name)) return name;
  throw new EscapementError('E_USAGE', `--name ${name}: must consist of letters, digits, ".", "_" and "-"`);
}
