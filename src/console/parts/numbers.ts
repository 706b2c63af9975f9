/** At most three digits that matter, with the unit of thousands: `0.3`, `12`, `1.2k`, `3.4M`. */
export function shortNumber(value: number): string {
  const [size, unit] = value >= 999_500 ? [1e6, 'M'] : value >= 999.5 ? [1e3, 'k'] : [1, ''];
  const scaled = value / size;
  if (value > 0 && value < 0.05) return '<0.1';
  const digits = scaled >= 99.5 || Number.isInteger(scaled) ? 0 : scaled >= 9.95 ? (unit === '' ? 0 : 1) : 1;
  return `${Number(scaled.toFixed(digits))}${unit}`;
}

/** With commas between thousands. */
export function wholeNumber(value: number): string {
  return Math.round(value).toLocaleString('en');
}

const BYTES = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

export function shortBytes(bytes: number): string {
  let value = bytes;
  let at = 0;
  while (value >= 999.5 && at < BYTES.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${value >= 99.5 || at === 0 ? Math.round(value) : Number(value.toFixed(1))} ${BYTES[at]}`;
}
