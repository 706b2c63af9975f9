import { knowsCategoriesOfOthers } from './categories.ts';

knowsCategoriesOfOthers('Redis');
