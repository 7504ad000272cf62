const TIME = new Intl.DateTimeFormat('sv', {
  timeZone: 'UTC',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
});

/** Name of a recording that starts at this time since 1970, in UTC: `profile-2026-01-31-09-30-00-125.json`. */
export function profileName(unixMs: number): string {
  return `profile-${TIME.format(unixMs).replace(/\D/g, '-')}.json`;
}
