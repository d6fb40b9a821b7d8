import { english, type Text } from './en.ts'
export const french: Text = english
