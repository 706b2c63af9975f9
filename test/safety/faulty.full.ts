import { AROUND, throwsNothing } from './faulty.ts';

throwsNothing(Object.keys(AROUND) as (keyof typeof AROUND)[]);
