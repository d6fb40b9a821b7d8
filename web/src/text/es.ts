import { english, type Text } from './en.ts'
export const spanish: Text = english
