// Sends the calls of the reference page, shows the replies and the same calls as curl commands, and finds calls. Nothing
// is kept, and no text becomes markup.
const token = document.querySelector('#token')

document.addEventListener('submit', async (event) => {
  event.preventDefault()
  const form = event.target
  const out = form.querySelector('.reply')
  const [url, init] = callOf(form)
  out.replaceChildren(line('Sending…'))
  try {
    const reply = await fetch(url, init)
    show(out, reply, await reply.text())
  } catch (error) {
    out.replaceChildren(line(`No reply: ${error.message}`))
  }
})

function callOf(form) {
  const { method, path } = form.dataset
  const headers = new Headers()
  const query = new URLSearchParams()
  let url = path
  const fields = [...document.querySelectorAll('.token [data-in]'), ...form.querySelectorAll('[data-in]')]
  for (const { name, value, dataset } of fields) {
    if (dataset.in === 'path') url = url.replace(`{${name}}`, encodeURIComponent(value))
    else if (value === '') continue
    else if (dataset.in === 'query') query.append(name, value)
    else if (dataset.in === 'header') headers.set(name, value)
  }
  if ('token' in form.dataset && token.value !== '')
    headers.set('Authorization', `Bearer ${token.value.trim()}`)
  const field = form.elements.namedItem('body')
  const body = field?.files ? field.files[0] : field?.value
  if (body) headers.set('Content-Type', field.dataset.type)
  const search = query.size > 0 ? `?${query}` : ''
  return [url + search, { method, headers, body: body || undefined, cache: 'no-store' }]
}

function show(out, reply, text) {
  const body = document.createElement('pre')
  body.tabIndex = 0
  body.setAttribute('aria-label', 'Body of the reply')
  body.textContent = text
  try {
    const json = JSON.parse(text)
    body.textContent = JSON.stringify(json, null, 2)
    if (json.access_token) token.value = json.access_token
  } catch {}
  const headers = [...reply.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  const more = document.createElement('details')
  const summary = document.createElement('summary')
  summary.textContent = 'Headers'
  const list = document.createElement('pre')
  list.textContent = headers
  more.append(summary, list)
  out.replaceChildren(line(`${reply.status} ${reply.statusText}`, 'status'), ...(text ? [body] : []), more)
}

function line(text, className = '') {
  return Object.assign(document.createElement('p'), { textContent: text, className })
}

// The command for the call as it is filled in. The token is a variable, so that nobody copies it into a ticket.
function curlOf(form) {
  const [url, { method, headers }] = callOf(form)
  const parts = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${quoted(location.origin + url)}`]
  if ('token' in form.dataset) parts.push('-H "Authorization: Bearer $TOKEN"')
  for (const [name, value] of headers)
    if (name !== 'authorization') parts.push(`-H ${quoted(`${name}: ${value}`)}`)
  const field = form.elements.namedItem('body')
  if (field?.type === 'file')
    parts.push(`-H ${quoted(`content-type: ${field.dataset.type}`)}`, '--data-binary @FILE')
  else if (field?.value) parts.push(`-d ${quoted(compact(field.value))}`)
  return [...new Set(parts)].join(' \\\n  ')
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`

function compact(text) {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

function showCommand(form) {
  form.parentElement.querySelector('.command pre').textContent = curlOf(form)
}

// This event does not bubble.
const onToggle = ({ target }) => {
  if (!target.matches('.operation[open]')) return
  target.querySelector('.command').hidden = false
  showCommand(target.querySelector('form'))
}
document.addEventListener('toggle', onToggle, true)
document.addEventListener('input', ({ target }) => {
  const form = target.closest?.('form[data-path]')
  if (form) showCommand(form)
  else if (target.matches('.token *'))
    for (const each of document.querySelectorAll('.operation[open] form')) showCommand(each)
})
document.addEventListener('click', async ({ target }) => {
  if (!target.matches('.copy')) return
  await navigator.clipboard?.writeText(target.parentElement.querySelector('pre').textContent)
  target.textContent = 'Copied'
  setTimeout(() => {
    target.textContent = 'Copy the command'
  }, 3000)
})

// Every word must be in the path, the method, the summary or the description of a call.
const find = document.querySelector('#find')
const found = document.querySelector('#found')
let operations

/** When somebody begins to type, not before: the page is large. */
function readOperations() {
  return [...document.querySelectorAll('.operation')].map((element) => {
    const words = [
      element.querySelector('summary'),
      element.querySelector(':scope > p'),
      element.closest('.part').querySelector('h2'),
    ]
    return {
      element,
      link: document.querySelector(`.side a[href="#${element.id}"]`).parentElement,
      text: words.map((each) => each?.textContent.toLowerCase()).join(' '),
    }
  })
}

function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean)
  let count = 0
  operations ??= readOperations()
  for (const { element, link, text } of operations) {
    const fits = words.every((word) => text.includes(word))
    element.hidden = link.hidden = !fits
    if (fits) count++
  }
  for (const part of document.querySelectorAll('.calls .part'))
    part.hidden = !part.querySelector('.operation:not([hidden])')
  for (const part of document.querySelectorAll('.side nav > ul > li'))
    part.hidden = !part.querySelector('li:not([hidden])')
  document.querySelector('.intro').hidden = words.length > 0
  found.textContent = words.length === 0 ? '' : count === 1 ? '1 call' : `${count} calls`
}
find.addEventListener('input', filter)
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.matches('input, textarea, select')) return
  event.preventDefault()
  find.focus()
})

// On a phone the list would fill the first screens, and it closes when a call was chosen from it.
const list = document.querySelector('#list')
const isNarrow = matchMedia('(max-width: 59.99rem)')
const fitList = () => {
  list.open = !isNarrow.matches
}
isNarrow.addEventListener('change', fitList)
fitList()
list.addEventListener('click', ({ target }) => {
  if (isNarrow.matches && target.closest('a')) list.open = false
})

// A link to one operation opens it.
function open() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1))
  if (!(target instanceof HTMLDetailsElement)) return
  if (target.hidden) {
    find.value = ''
    filter()
  }
  target.open = true
  target.scrollIntoView()
}
addEventListener('hashchange', open)
open()
