/** Names of the types of configuration values in messages. */
export const TYPE_NAMES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'a section of keys',
  record: 'a section of keys',
};
