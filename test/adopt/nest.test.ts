import { describe } from 'node:test';
import { nestCases } from './nest-cases.ts';

describe('Nest 10', () => nestCases('nestjs-common-10'));

describe('Nest 11', () => nestCases('@nestjs/common'));
