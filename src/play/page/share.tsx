import { basename } from 'pathe';
import { useState } from 'preact/hooks';
import { packAddress } from '../share/address.js';
import { experimentYaml } from '../share/experiment-yaml.js';
import { openFiles } from './open-files.js';
import type { Session, View } from './session.js';

interface ShareProps {
  readonly session: Session;
  readonly view: View;
}

/** Length above which a link is better sent as a file, given limits of chat programs and servers. */
const LONG_ADDRESS = 8000;

/** Puts the whole setup into the address, and offers its files. */
export function Share({ session, view }: ShareProps) {
  const [said, setSaid] = useState('');
  const [isOpen, setOpen] = useState(false);
  const share = async () => {
    const digests = view.runs?.map(({ summary }) => summary.digest);
    const { digests: _, ...setup } = view.setup;
    const fragment = await packAddress(digests === undefined ? setup : { ...setup, digests });
    history.replaceState(null, '', `#${fragment}`);
    const copied = await navigator.clipboard?.writeText(location.href).then(
      () => true,
      () => false,
    );
    const long = location.href.length > LONG_ADDRESS ? ' It is long: some programs cut it.' : '';
    setSaid(`${copied === true ? 'Copied: ' : ''}the address of this page now holds the experiment.${long}`);
  };
  return (
    <>
      <button type="button" onClick={share}>
        Share
      </button>
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Download
      </button>
      <label class="button">
        Open a file
        <input
          type="file"
          multiple
          onChange={({ currentTarget }) => void openFiles(session, [...(currentTarget.files ?? [])])}
        />
      </label>
      {said === '' ? null : (
        <span class="small" role="status">
          {said}
        </span>
      )}
      {isOpen ? <Downloads view={view} /> : null}
    </>
  );
}

/** An experiment file of each lane, and the files that it names, which belong next to it. */
function Downloads({ view: { setup } }: { readonly view: View }) {
  const lanes = setup.lanes.map((_, lane) => {
    const name = setup.lanes.length === 1 ? 'experiment.yaml' : `experiment-${lane === 0 ? 'a' : 'b'}.yaml`;
    try {
      return { name, content: experimentYaml(setup, lane) };
    } catch {
      return null;
    }
  });
  const named = Object.entries(setup.files).map(([path, content]) => ({ name: basename(path), content }));
  const files = [...lanes.filter((file) => file !== null), ...named];
  return (
    <div class="downloads">
      {files.map(({ name, content }) => (
        <button key={name} type="button" onClick={() => save(name, content)}>
          {name}
        </button>
      ))}
      <code>{`escapement simulate ${files[0]?.name}`}</code>
      <span class="small">gives the digest that the page shows at the end.</span>
    </div>
  );
}

function save(name: string, content: string | Uint8Array): void {
  const url = URL.createObjectURL(new Blob([content as BlobPart]));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  // The download has its own copy by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
