/** Puts text on the clipboard. The newer way is not there on plain HTTP, and our own policy has it off. @returns whether it is there */
export function copy(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  const focused = document.activeElement;
  // Beside what has the focus: a modal dialog lets nothing else be selected.
  (focused?.parentElement ?? document.body).append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}
