// Sends the calls of the reference page and shows the replies. Nothing is kept, and no text becomes markup.
const token = document.querySelector('#token')

for (const form of document.querySelectorAll('form[data-path]')) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
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
}

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

// A link to one operation opens it.
function open() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1))
  if (target instanceof HTMLDetailsElement) target.open = true
}
addEventListener('hashchange', open)
open()
