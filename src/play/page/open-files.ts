import { MOST_SETUP_BYTES } from '../share/address.js';
import { withDropped } from './dropped.js';
import type { Session } from './session.js';

/** Opens experiments and the files that they name. Shows what is wrong with them. */
export async function openFiles(session: Session, files: readonly File[]): Promise<void> {
  try {
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    if (bytes > MOST_SETUP_BYTES)
      throw new Error(`${files[0]!.name}: the page takes files of ${MOST_SETUP_BYTES / 1e6} MB in all`);
    const dropped = await Promise.all(
      files.map(async (file) => ({ name: file.name, content: new Uint8Array(await file.arrayBuffer()) })),
    );
    session.open(await withDropped(session.view.setup, dropped));
  } catch (error) {
    session.fail((error as Error).message);
  }
}
