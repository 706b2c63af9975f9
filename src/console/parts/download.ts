/** Hands a file to the browser's downloads. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The download has taken it over by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
