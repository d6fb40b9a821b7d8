/** Makes mutants of a source file: copies with one small fault each, such as `<` in place of `<=`. */
import { parseSync } from 'vite'

export interface Mutant {
  /** Where the replaced text begins and ends. */
  readonly start: number
  readonly end: number
  readonly text: string
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

const otherOperators: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '-': '+',
  '*': '/',
  '/': '*',
}

const otherInSql: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '<>': '=',
  and: 'or',
  or: 'and',
  'is null': 'is not null',
  'is not null': 'is null',
  'not exists': 'exists',
  exists: 'not exists',
}
const sqlBegins = /^\s*(select|insert|update|delete|with|exists|not|and|where|[a-z_.]+ (=|<|>|is|in))\b/i
const inSql = /(?<![<>])(<=|>=|<>|<|>)(?![<>])|\b(is not null|is null|not exists|exists|and|or)\b/g

export function mutantsOf(source: string): Mutant[] {
  const mutants: Mutant[] = []
  const textOf = (node: Node) => source.slice(node.start, node.end)
  const add = (start: number, end: number, text: string) => mutants.push({ start, end, text })
  const replace = (node: Node, text: string) => add(node.start, node.end, text)

  function visit(node: Node): void {
    switch (node.type) {
      case 'BinaryExpression':
      case 'LogicalExpression': {
        const other = otherOperators[node.operator as string]
        if (other !== undefined) replaceOperator(node, other)
        else if (node.operator === '??') replace(node, textOf(node.left as Node))
        break
      }
      case 'UnaryExpression':
        if (node.operator === '!') replace(node, textOf(node.argument as Node))
        break
      case 'Literal':
        if (typeof node.value === 'boolean') replace(node, String(!node.value))
        if (typeof node.value === 'string') mutateSql(node)
        break
      case 'TemplateElement':
        mutateSql(node)
        break
      case 'IfStatement':
      case 'ConditionalExpression':
        replace(node.test as Node, 'true')
        replace(node.test as Node, 'false')
        break
      case 'ExpressionStatement': {
        const { type } = node.expression as Node
        if (['CallExpression', 'AwaitExpression', 'AssignmentExpression'].includes(type)) replace(node, ';')
        break
      }
    }
    for (const child of childrenOf(node)) visit(child)
  }

  function replaceOperator(node: Node, other: string): void {
    const from = (node.left as Node).end
    const at = source.indexOf(node.operator as string, from)
    add(at, at + (node.operator as string).length, other)
  }

  function mutateSql(node: Node): void {
    const text = textOf(node)
    if (!sqlBegins.test(text.replace(/^['"`]/, ''))) return
    for (const found of text.matchAll(inSql)) {
      const at = node.start + found.index
      add(at, at + found[0].length, otherInSql[found[0]]!)
    }
  }

  visit(parseSync('source.ts', source).program as unknown as Node)
  return mutants
}

/** What follows types is left out: they are gone when the program runs. */
function* childrenOf(node: Node): Generator<Node> {
  for (const value of Object.values(node))
    for (const one of Array.isArray(value) ? value : [value])
      if (isNode(one) && (!one.type.startsWith('TS') || 'expression' in one)) yield one
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value
