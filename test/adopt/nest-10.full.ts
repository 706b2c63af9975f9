import { describe } from 'node:test';
import { loadCopy } from './bench.ts';
import { nestCases } from './nest-cases.ts';

describe('Nest 10', () => nestCases(async () => loadCopy('nestjs-common-10')));
