import { describe } from 'node:test';
import { requireNest } from './loggers.ts';
import { nestCases } from './nest-cases.ts';

describe('Nest 10', () => nestCases(requireNest('nestjs-common-10')));
