import assert from 'node:assert/strict';

/** What GitHub shows of an SVG in an `<img>`, and what a reader may ask of it. */
export function assertPlayable(svg: string): void {
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" /);
  assert.doesNotMatch(svg, /<script|<foreignObject|\son\w+=|javascript:/i);
  assert.doesNotMatch(svg.replace('http://www.w3.org/2000/svg', ''), /(?:href|src)="(?!#)|url\(|@import/);
  assert.match(svg, /role="img" aria-label="[^"]+"/);
  assert.match(svg, /prefers-color-scheme:dark/);
  const [still = '', moving = ''] = svg.split('@media (prefers-reduced-motion:no-preference)');
  assert.doesNotMatch(still, /animation/);
  assert.match(moving, /animation:\d+ms step-end infinite/);
  assertWellFormed(svg);
}

/** Every element ends where it has to, and text has no bare sign of markup. */
function assertWellFormed(xml: string): void {
  const open: string[] = [];
  const attributes = /(?:\s[\w:-]+="[^"<]*")*/.source;
  for (const [, text = '', tag = '', closes, name = '', empty] of xml.matchAll(
    new RegExp(`([^<]*)(<(/?)(\\w+)${attributes}\\s*(/?)>|$)`, 'g'),
  )) {
    assert.doesNotMatch(text, /&(?!(?:amp|lt|gt|quot);)/);
    if (closes) assert.equal(open.pop(), name, tag);
    else if (tag !== '' && !empty) open.push(name);
  }
  assert.deepEqual(open, []);
}
