import { readFileSync } from 'node:fs';
import { takePm2Variables } from './environment.ts';
import { startFromEnvironment } from './start.ts';

takePm2Variables(process.env);
startFromEnvironment(process.env, (path) => readFileSync(path, 'utf8'));
