/** What decides the last digits of a result besides the program: the processor's architecture and the engine. */
export function platformText(): string {
  const [major, minor] = process.versions.v8.split('.');
  return `${process.arch} with V8 ${major}.${minor}`;
}
