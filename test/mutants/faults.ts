// The small faults that can be planted in a source, each a change of one place that the compiler would mostly let pass.

import { parseAst } from 'rolldown/parseAst';

export interface Fault {
  readonly start: number;
  readonly end: number;
  /** What stands there instead. */
  readonly instead: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const OFF_BY_ONE: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const OPPOSITE: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
};
/** Expressions with a type beside them; everything else of TypeScript is gone at run time. */
const TYPED = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression']);

const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';
const isNumber = (value: unknown) => isNode(value) && typeof value.value === 'number';
const child = (node: Node, field: string) => node[field] as Node;

interface Operation {
  readonly left: Node;
  readonly right: Node;
  readonly operator: string;
  readonly value: unknown;
}

function isCallOrChange(expression: Node): boolean {
  const { type, operator } = expression;
  if (type === 'CallExpression') return child(expression, 'callee').type !== 'Super';
  if (type === 'ChainExpression') return isCallOrChange(child(expression, 'expression'));
  if (type === 'AwaitExpression' || operator === 'void') return isCallOrChange(child(expression, 'argument'));
  return type === 'AssignmentExpression' || type === 'UpdateExpression' || operator === 'delete';
}

export function faultsIn(text: string): Fault[] {
  const faults: Fault[] = [];
  const plant = ({ start, end }: Node, ...instead: string[]) => {
    for (const each of instead) faults.push({ start, end, instead: each });
  };
  const alone = (node: Node) => `(${text.slice(node.start, node.end)})`;

  function plantIn(node: Node, parent: Node | undefined): void {
    const { left, right, operator, value } = node as unknown as Operation;
    if (node.type === 'IfStatement' || node.type === 'ConditionalExpression') {
      plant(child(node, 'test'), 'true', 'false');
    } else if (node.type === 'LogicalExpression') {
      plant(node, ...[left, ...(operator === '??' ? [] : [right])].map(alone));
    } else if (node.type === 'BinaryExpression') {
      const isArithmetic = '+-*/'.includes(operator);
      // `+` may join strings, and a comparison that is a whole condition is planted as that.
      const isPlanted = isArithmetic ? isNumber(left) || isNumber(right) : parent?.test !== node;
      const other = OFF_BY_ONE[operator] ?? (isPlanted ? OPPOSITE[operator] : undefined);
      const between = text.slice(left.end, right.start);
      if (other !== undefined) plant({ ...node, start: left.end, end: right.start }, between.replace(operator, other));
    } else if (node.type === 'ArrayExpression') {
      const elements = node.elements as readonly (Node | null)[];
      for (const [index, each] of elements.entries()) {
        if (each?.type === 'Literal' && elements.length > 1)
          plant({ ...each, end: elements[index + 1]?.start ?? each.end }, '');
      }
    } else if (typeof value === 'boolean') {
      plant(node, String(!value));
    } else if (typeof value === 'number') {
      plant(node, String(value < 10 ? value + 1 : value * 10));
    } else if (node.type === 'ExpressionStatement' && isCallOrChange(child(node, 'expression'))) {
      plant(node, ';');
    }
  }

  function walk(node: Node, parent?: Node): void {
    if (node.type.startsWith('TS') && !TYPED.has(node.type)) return;
    if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration') return;
    plantIn(node, parent);
    for (const [field, value] of Object.entries(node)) {
      if (field === 'typeAnnotation') continue;
      for (const each of Array.isArray(value) ? value : [value]) if (isNode(each)) walk(each, node);
    }
  }
  walk(parseAst(text, { lang: 'ts' }) as unknown as Node);
  return faults;
}
