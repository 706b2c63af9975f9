/** Such as `2026-11-22 11:49:13 UTC`. */
export function utcTime(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Hours, minutes and seconds in the browser's zone. */
export function dayTime(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
}

/** In the browser's zone and the page's form: the time alone for today, with the date before it otherwise. */
export function clockTime(date: Date, now = new Date()): string {
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return date.toDateString() === now.toDateString() ? dayTime(date) : `${day} ${dayTime(date)}`;
}

/** At least two digits. */
export function two(value: number): string {
  return String(value).padStart(2, '0');
}
