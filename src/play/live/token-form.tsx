import { useRef } from 'preact/hooks';

interface TokenFormProps {
  readonly wasWrong: boolean;
  readonly onToken: (token: string) => void;
}

/** Form for the server's token, which the page forgets when it closes. */
export function TokenForm({ wasWrong, onToken }: TokenFormProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onToken(input.current!.value.trim());
      }}
    >
      <h1>This server requires its token</h1>
      <p>It is the content of the file passed as --token-file. The page forgets it when it closes.</p>
      {wasWrong ? (
        <p class="alert" role="alert">
          The server refused this token.
        </p>
      ) : null}
      <p class="row">
        <input ref={input} type="password" aria-label="Token" autocomplete="off" required />
        <button type="submit" class="primary">
          Show the server
        </button>
      </p>
    </form>
  );
}
