import { EscapementError } from '../../base/errors.js';
import { DEFAULT_SESSION, type OrtDeviceSpec } from '../device.js';

/** Device for reading and optimizing models, whatever device is to run them. */
export const CPU: OrtDeviceSpec = { kind: 'cpu', adapter: 0, session: DEFAULT_SESSION };

/** Adds the file to an error of the model, unless it names one. */
export async function locate<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const ofModel = error instanceof EscapementError && error.code === 'E_MODEL_FILE';
    if (!ofModel || error.place.file !== undefined) throw error;
    throw new EscapementError(error.code, error.what, { ...error.place, file });
  }
}
