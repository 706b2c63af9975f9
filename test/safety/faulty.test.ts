import { throwsNothing } from './faulty.ts';

throwsNothing(['nothing but what it passes itself', 'every provider', 'all of it']);
