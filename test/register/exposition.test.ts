import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mergeExpositions } from '../../src/assembly/register/exposition.ts';

it('the samples of a metric stay together, each with the label of its process', () => {
  const one =
    '# HELP calls of it\n# TYPE calls counter\ncalls{name="A{}"} 1\ncalls{name="B"} 2\n\n# HELP up is it\nup 1\n';
  const other = '# HELP calls of it\n# TYPE calls counter\ncalls{name="A{}"} 3 1700000000\nplain{} 7\n';
  const merged = mergeExpositions(
    new Map([
      [11, one],
      [12, other],
    ]),
  );
  assert.equal(
    merged,
    [
      '# HELP calls of it',
      '# TYPE calls counter',
      'calls{process_pid="11",name="A{}"} 1',
      'calls{process_pid="11",name="B"} 2',
      'calls{process_pid="12",name="A{}"} 3 1700000000',
      'plain{process_pid="12"} 7',
      '',
      '# HELP up is it',
      'up{process_pid="11"} 1',
      '',
    ].join('\n'),
  );
});

it('a sample that has the label of a process is left as it is', () => {
  const text = 'target_info{a="1",process_pid="5"} 1\n';
  assert.equal(mergeExpositions(new Map([[9, text]])), text);
});

it('comments without a name and samples whose name is quoted lose nothing', () => {
  const merged = mergeExpositions(
    new Map([
      [1, '# hello\nup 1\n'],
      [2, '# hello\nup 2\n{"a.b"} 3\n'],
    ]),
  );
  assert.equal(
    merged,
    ['# hello', 'up{process_pid="1"} 1', 'up{process_pid="2"} 2', '{process_pid="2","a.b"} 3', ''].join('\n'),
  );
});
