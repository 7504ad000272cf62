/** A value with every field read-only, at any depth: what a checked document is once it has been read. */
export type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T;
