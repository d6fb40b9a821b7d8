/**
 * The reference page: the OpenAPI document as plain HTML, rendered once on the server, with a list of all calls at the
 * side. Every operation is a form: assets/docs.js sends it, shows it as a curl command and finds calls. Without the script
 * the page can still be read.
 */
import { escapeHtml } from '../lib/html.ts'
import { html } from './pages.ts'

interface Document {
  readonly info: { readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>
}

interface Operation {
  readonly tags?: readonly string[]
  readonly summary?: string
  readonly description?: string
  readonly security?: readonly object[]
  readonly parameters?: readonly (Parameter | Ref)[]
  readonly requestBody?: { readonly content: Content; readonly required?: boolean }
  readonly responses: Readonly<
    Record<string, { readonly $ref?: string; readonly description: string; readonly content?: Content }>
  >
}

interface Call {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

interface Ref {
  readonly $ref: string
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Schema
}

type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly examples?: readonly unknown[]
  readonly minimum?: number
}

const nestingMax = 6

export function referencePage(document: Document): string {
  return html({
    title: 'API reference',
    head: `<meta name="description" content="Every call of the access service, with its replies and errors.">
<script type="module" src="/assets/docs.js"></script>`,
    body: new Reference(document).body(),
    wide: true,
  })
}

class Reference {
  readonly #document: Document
  /** Parameters that every operation has. They are shown once. */
  readonly #common: ReadonlySet<string>

  constructor(document: Document) {
    this.#document = document
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
    const [first, ...others] = operations.map(({ parameters = [] }) => new Set(parameters.flatMap(refOf)))
    this.#common = others.reduce((common, refs) => common.intersection(refs), first ?? new Set())
  }

  body(): string {
    const { info, tags } = this.#document
    return `<div class="reference">
${this.#side()}
<div class="calls"><h1>API reference</h1>
<p>Version ${escapeHtml(info.version)} · <a href="/openapi.json">openapi.json</a> · <a href="/problems">errors</a></p>
<div class="intro">${prose(info.description)}</div>
<section class="card token" aria-labelledby="token-title"><h2 id="token-title">Trying calls</h2>
<p>Every call below can be sent from this page to this service. The token stays in this page; a sign-in sent from here fills it in.</p>
<div class="field"><label for="token">Access token</label><input id="token" autocomplete="off" spellcheck="false"></div>
${[...this.#common].map(($ref, index) => this.#parameter(this.#resolved<Parameter>({ $ref }), `common-${index}`)).join('\n')}
</section>
${tags.map((tag) => this.#tag(tag)).join('\n')}
</div></div>`
  }

  /** Closed at first, as it stays on a phone: what is open and then closes would move the whole page. */
  #side(): string {
    const parts = this.#document.tags.map(({ name }) => {
      const calls = this.#operationsOf(name).map(
        ({ id, method, path }) =>
          `<li><a href="#${id}"><span class="method ${method}">${method.toUpperCase()}</span> <span>${breakable(path)}</span></a></li>`,
      )
      return calls.length === 0
        ? ''
        : `<li><a class="part" href="#${name}">${name}</a><ul>${calls.join('')}</ul></li>`
    })
    return `<div class="side">
<div class="find"><label for="find">Find a call</label><input id="find" type="search" autocomplete="off" spellcheck="false" aria-describedby="found"><p id="found" class="soft" role="status"></p></div>
<details id="list"><summary>All calls</summary><nav aria-label="Calls"><ul>${parts.join('\n')}</ul></nav></details>
</div>`
  }

  #operationsOf(tag: string): Call[] {
    return Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => operation.tags?.includes(tag))
        .map(([method, operation]) => {
          const id = `${method}${path.replace(/[^a-z]+/gi, '-')}`.replace(/-$/, '')
          return { id, method, path, operation }
        }),
    )
  }

  #tag({ name, description }: { name: string; description: string }): string {
    const operations = this.#operationsOf(name)
    if (operations.length === 0) return ''
    return `<section class="part" aria-labelledby="${name}"><h2 id="${name}">${name}</h2>${prose(description)}${operations.map((one) => this.#operation(one)).join('\n')}</section>`
  }

  #operation({ id, method, path, operation }: Call): string {
    const needsToken = operation.security?.length !== 0
    const fields = (operation.parameters ?? [])
      .filter((one) => !refOf(one).some((ref) => this.#common.has(ref)))
      .map((one, index) => this.#parameter(this.#resolved<Parameter>(one), `${id}-${index}`))
    const replies = Object.entries(operation.responses)
    const errors = replies.filter(([, reply]) => isProblem(reply))
    return `<details class="card operation" id="${id}">
<summary><span class="method ${method}">${method.toUpperCase()}</span> <code>${breakable(path)}</code> <span class="soft">${escapeHtml(operation.summary ?? '')}</span></summary>
${prose(operation.description ?? '')}
<div class="try"><form data-method="${method.toUpperCase()}" data-path="${escapeHtml(path)}"${needsToken ? ' data-token' : ''}>
${needsToken ? '<p class="soft">Needs an access token.</p>' : ''}${fields.join('\n')}${this.#body(operation, id)}
<button class="button" aria-label="Send ${method.toUpperCase()} ${escapeHtml(path)}">Send</button>
<div class="reply" role="status"></div>
</form>
<div class="command" hidden><pre tabindex="0" aria-label="As a curl command"></pre><button type="button" class="copy">Copy the command</button></div></div>
<h3>Replies</h3>
<dl class="replies">${replies
      .filter(([, reply]) => !isProblem(reply))
      .map(([status, reply]) => this.#reply(status, reply))
      .join('\n')}
<dt><a href="/problems">Errors</a></dt><dd class="errors">${errors.map(errorsOf).join('<br>')}</dd></dl>
</details>`
  }

  #parameter({ name, in: place, required, description, schema }: Parameter, id: string): string {
    const attributes = `id="${id}" name="${escapeHtml(name)}" data-in="${place}" aria-describedby="${id}-about"${required ? ' required' : ''}`
    const choices = schema && this.#resolved<Schema>(schema).enum
    const field = choices
      ? `<select ${attributes}><option></option>${choices.map((each) => `<option>${escapeHtml(String(each))}</option>`).join('')}</select>`
      : `<input ${attributes} autocomplete="off" spellcheck="false">`
    return `<div class="field"><label for="${id}"><code>${escapeHtml(name)}</code> <span class="soft">${place}${required ? ', required' : ''}</span></label>
${field}<div class="soft" id="${id}-about">${inline(description ?? schema?.description ?? '')}</div></div>`
  }

  #body({ requestBody }: Operation, id: string): string {
    const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
    if (!type) return ''
    const { schema = {} } = content!
    const label = `<label for="${id}-body">Body <span class="soft">${type}</span></label>`
    const field = type.includes('json')
      ? `<textarea id="${id}-body" name="body" data-type="${type}" rows="6" spellcheck="false">${escapeHtml(JSON.stringify(this.#example(schema), null, 2))}</textarea>`
      : `<input id="${id}-body" name="body" data-type="${type}" type="file">`
    return `<div class="field">${label}${field}</div>${this.#shape(schema)}`
  }

  #reply(status: string, { description, content = {} }: Operation['responses'][string]): string {
    const { schema } = Object.values(content)[0] ?? {}
    return `<dt>${status}</dt><dd>${inline(description)}${schema ? this.#shape(schema) : ''}</dd>`
  }

  #shape(schema: Schema, depth = 0): string {
    const whole = this.#resolved<Schema>(schema)
    const list = whole.items ? this.#resolved<Schema>(whole.items) : whole
    const variant = list.properties
      ? list
      : list.anyOf?.map((one) => this.#resolved<Schema>(one)).find((one) => one.properties)
    if (!variant?.properties || depth === nestingMax) return ''
    const rows = Object.entries(variant.properties).map(([name, one]) => {
      const property = this.#resolved<Schema>(one)
      const optional = variant.required?.includes(name) ? '' : ', optional'
      return `<li><code>${escapeHtml(name)}</code> <span class="soft">${this.#type(property)}${optional}</span> ${inline(one.description ?? property.description ?? '')}${this.#shape(property, depth + 1)}</li>`
    })
    return `<ul class="shape">${rows.join('')}</ul>`
  }

  #type(schema: Schema): string {
    const { type, const: only, enum: choices, items, anyOf, format } = this.#resolved<Schema>(schema)
    if (only !== undefined) return escapeHtml(JSON.stringify(only))
    if (choices) return choices.map((each) => escapeHtml(JSON.stringify(each))).join(' or ')
    if (anyOf) return [...new Set(anyOf.map((each) => this.#type(each)))].join(' or ')
    if (items) return `list of ${this.#type(items)}`
    return escapeHtml([type ?? 'anything'].flat().join(' or ') + (format ? ` (${format})` : ''))
  }

  #example(schema: Schema, depth = 0): unknown {
    const {
      examples,
      const: only,
      enum: choices,
      properties,
      required,
      items,
      anyOf,
      type,
      minimum,
    } = this.#resolved<Schema>(schema)
    if (examples?.length) return examples[0]
    if (only !== undefined) return only
    if (choices) return choices[0]
    if (anyOf) return this.#example(anyOf[0]!, depth + 1)
    if (properties && depth < nestingMax)
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([name]) => required?.includes(name))
          .map(([name, one]) => [name, this.#example(one, depth + 1)]),
      )
    if (items) return []
    return { integer: minimum ?? 0, number: 0, boolean: true, object: {} }[String(type)] ?? ''
  }

  /** Follows `#/components/…`. */
  #resolved<T extends object>(value: T | Ref): T {
    if (!('$ref' in value) || typeof value.$ref !== 'string') return value as T
    const [, , kind, name] = value.$ref.split('/')
    return (this.#document.components[kind!]?.[name!] ?? {}) as T
  }
}

type Reply = Operation['responses'][string]

const breakable = (path: string) => escapeHtml(path).replaceAll('/', '/<wbr>')

const refOf = (value: object): string[] => ('$ref' in value ? [String(value.$ref)] : [])

function isProblem({ $ref, content = {} }: Reply): boolean {
  const { schema } = Object.values(content)[0] ?? {}
  return ($ref ?? schema?.$ref)?.endsWith('/Problem') === true
}

/** A line for each status, with its codes; /problems says what they mean. */
function errorsOf([status, { description }]: [string, Reply]): string {
  return `${status} ${description}`.replaceAll('`', '')
}

/** The subset of Markdown that our descriptions use: paragraphs, numbered lists, and the inline forms of `inline`. */
function prose(text: string): string {
  return text
    .split(/\n{2,}/)
    .filter((block) => block.trim() !== '')
    .map((block) =>
      /^1\. /.test(block)
        ? `<ol>${block
            .split('\n')
            .map((line) => `<li>${inline(line.replace(/^\d+\. /, ''))}</li>`)
            .join('')}</ol>`
        : `<p>${inline(block)}</p>`,
    )
    .join('\n')
}

function inline(text: string): string {
  return escapeHtml(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/\[([^\]]+)\]\((\/[\w/.-]*)\)/g, '<a href="$2">$1</a>')
}
