/** A value with every field read-only, at any depth: a checked document after it has been read. */
export type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T;
