import assert from 'node:assert/strict';
import { join } from 'node:path';
import { build } from 'rolldown';
import { ROOT } from '../support/built.ts';
import { browserTest } from './support.ts';

/** The renderer as a script that puts its functions into `R`. */
async function script(): Promise<string> {
  const code = ['render', 'hooks', 'vnode'].map(
    (name) => `export * from ${JSON.stringify(join(ROOT, `src/console/dom/${name}.ts`))};`,
  );
  const entry = {
    name: 'entry',
    resolveId: (id: string) => (id === 'entry' ? id : undefined),
    load: (id: string) => (id === 'entry' ? code.join('\n') : undefined),
  };
  const { output } = await build({
    input: 'entry',
    plugins: [entry],
    write: false,
    output: { format: 'iife', name: 'R' },
  });
  return output[0].code;
}

browserTest('the renderer of the page', async (t, browser) => {
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  await page.setContent('<main></main>');
  await page.addScriptTag({ content: await script() });
  // Steps run in one page; each begins with an empty <main>.
  const step = (name: string, code: string, expected: unknown) =>
    t.test(name, async () => {
      const result = await page.evaluate(
        `(async () => { const { h, Fragment, render, useState, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useId } = R;
          document.querySelector('main')?.remove(); const main = document.createElement('main'); document.body.append(main);
          const drawn = () => new Promise((resolve) => setTimeout(resolve)); const log = []; let set;
          ${code} })()`,
      );
      assert.deepEqual(result, expected);
    });

  await step(
    'draws attributes, properties, styles, text, fragments and SVG',
    `render(h('div', { class: 'a', style: { color: 'red' }, 'aria-busy': false, hidden: false, tabIndex: -1 }, 'x', 0, null, false,
       [h('b', { key: 'b' }, 'y')], h(Fragment, null, h('i', null, 'z')), h('svg', { viewBox: '0 0 1 1' }, h('path', { d: 'M0 0' }))), main);
     return [main.innerHTML, main.querySelector('path') instanceof SVGPathElement];`,
    [
      '<div class="a" aria-busy="false" tabindex="-1" style="color: red;">x0<b>y</b><i>z</i><svg viewBox="0 0 1 1"><path d="M0 0"></path></svg></div>',
      true,
    ],
  );

  await step(
    'moves rows by their keys without drawing them again, and the focus stays where it was',
    `const List = () => { const [keys, change] = useState(['a', 'b', 'c', 'd']); set = change; return keys.map((key) => h('input', { key, id: key })); };
     render(h(List), main); const [a, b] = main.children; b.focus();
     set(['b', 'c', 'x']); await drawn();
     let focused = document.activeElement === b; set(['x', 'c', 'b', 'a']); await drawn(); focused &&= document.activeElement === b;
     return [focused, [...main.children].map(({ id }) => id), main.children[2] === b, main.children[3] === a];`,
    [true, ['x', 'c', 'b', 'a'], true, false],
  );

  await step(
    'draws a component at its own place when it changes alone',
    `const Some = () => { const [shown, change] = useState(false); set = change; return shown && h('b', null, 'b'); };
     render(h(Fragment, null, h('i', null), h(Some), 'text', h('u', null)), main); set(true); await drawn();
     const with_ = main.innerHTML; set(false); await drawn(); return [with_, main.innerHTML];`,
    ['<i></i><b>b</b>text<u></u>', '<i></i>text<u></u>'],
  );

  await step(
    'draws once for several changes, and not for none',
    `let count = 0; const C = () => { const [n, change] = useState(0); set = change; count += 1; return n; };
     render(h(C), main); set(1); set((n) => n + 1); await drawn(); const twice = count; set(2); await drawn();
     return [main.textContent, twice, count];`,
    ['2', 2, 2],
  );

  await step(
    'runs effects after drawing, those of layout first, again when their inputs change, and cleans up at the end',
    `const C = ({ n }) => {
       useEffect(() => { log.push('effect ' + n + main.textContent); return () => log.push('clean ' + n); }, [n]);
       useLayoutEffect(() => { log.push('layout ' + n); }, [n]);
       useEffect(() => { log.push('once'); }, []); return h('b', null, n); };
     const P = () => { const [n, change] = useState(1); set = change; return n > 0 && h(C, { n }); };
     render(h(P), main); set(2); await drawn(); set(0); await drawn(); return log;`,
    ['layout 1', 'effect 11', 'once', 'layout 2', 'clean 1', 'effect 22', 'clean 2'],
  );

  await step(
    'keeps memos, references, reducers and ids from call to call',
    `let made = 0; const C = () => { const [n, add] = useReducer((sum, by) => sum + by, 1); set = add; const ref = useRef(n); const id = useId();
       const memo = useMemo(() => { made += 1; return n > 2; }, [n > 2]); const dom = useRef(null);
       useEffect(() => { log.push(dom.current.id === id); }); return h('b', { ref: dom, id }, ref.current, ' ', n, ' ', String(memo)); };
     render(h(C), main); set(1); await drawn(); set(5); await drawn(); return [main.textContent, made, log];`,
    ['1 7 true', 2, [true, true, true]],
  );

  await step(
    'calls the newest handler, once',
    `const C = () => { const [n, change] = useState(0); return h('button', { onClick: () => { log.push(n); change(n + 1); } }); };
     render(h(C), main); for (let i = 0; i < 3; i++) { main.firstChild.click(); await drawn(); } return log;`,
    [0, 1, 2],
  );

  await step(
    'leaves what somebody typed, and sets what is another value',
    `const C = () => { const [v, change] = useState('a'); set = change; return h(Fragment, null, h('input', { value: v }), h('input', { class: v }),
       h('select', { value: v }, h('option', { value: 'a' }, 'A'), h('option', { value: 'b' }, 'B'))); };
     render(h(C), main); const [one, two, select] = main.children; two.value = 'typed'; set('b'); await drawn();
     return [one.value, two.value, select.value];`,
    ['b', 'typed', 'b'],
  );

  await step(
    'shows a notice in the place of a component that throws, and goes on with the rest',
    `const Bad = ({ bad }) => { const [n] = useState(1); if (bad) throw new Error('bad'); return h('b', null, n); };
     const P = () => { const [bad, change] = useState(false); set = change; return [h(Bad, { bad }), h('i', null, String(bad))]; };
     console.error = () => {}; render(h(P), main); set(true); await drawn();
     const failed = [main.querySelector('[role=alert]') !== null, main.querySelector('i').textContent]; set(false); await drawn();
     return [failed, main.innerHTML];`,
    [[true, 'true'], '<b>1</b><i>false</i>'],
  );

  await page.close();
  assert.deepEqual(errors, []);
});
