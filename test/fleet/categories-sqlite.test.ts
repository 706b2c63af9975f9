import { knowsCategoriesOfOthers } from './categories.ts';

knowsCategoriesOfOthers('SQLite');
