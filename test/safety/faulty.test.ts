import { throwsNothing } from './faulty.ts';

throwsNothing(['all of it']);
