import { type CompletionModel, families, firstWords, type Offer } from './model.js';

/** The completion of bash, from 3.2 on: without associative arrays. */
export function bashCompletion(model: CompletionModel): string {
  const { commands, overrides } = model;
  const two = [...families(model)];
  const firsts = firstWords(model)
    .map(({ name }) => name)
    .join(' ');
  return `# Completion of escapement for bash. In ~/.bashrc: source <(escapement completion bash)
${HELPERS}
_escapement_overrides='${overrides.join(' ')}'

_escapement() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command="\${COMP_WORDS[1]}" flags='' takes='' at=2 flag="$previous" i
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _escapement_words '${firsts} help --help --version'
    return
  fi
  if [[ $command == help ]]; then
    ((COMP_CWORD == 2)) && _escapement_words '${firsts}'
    return
  fi
  case "$command" in
${two
  .map(
    ([first, own]) => `    ${first})
      if ((COMP_CWORD == 2)); then
        _escapement_words '${own.map(({ name }) => name.split(' ')[1]).join(' ')} --help'
        return
      fi
      command="${first} \${COMP_WORDS[2]}"; at=3 ;;
`,
  )
  .join('')}  esac
  # Behind --set KEY = VALUE, the flag is not the word before.
  if [[ $current == = ]]; then flag="\${COMP_WORDS[COMP_CWORD-2]}"
  elif [[ $previous == = ]]; then
    flag="\${COMP_WORDS[COMP_CWORD-2]}"
    [[ $flag == -* ]] || flag="\${COMP_WORDS[COMP_CWORD-3]}"
  fi
  case "$command" in
${commands.map(({ name, flags }) => caseOfFlags(name, flags)).join('')}    *) return ;;
  esac
  case "$command $flag" in
${commands.flatMap(({ name, flags }) => flags.filter((flag) => flag.takesValue).map((flag) => `    '${name} ${flag.name}') ${offered(flag)}; return ;;\n`)).join('')}  esac
  if [[ $current == -* ]]; then
    _escapement_words "$flags"
    return
  fi
${COUNT_ARGUMENTS}  case "$command $argument" in
${commands.flatMap(({ name, arguments: args }) => args.map((arg, i) => `    '${name} ${i}'${i === args.length - 1 ? `|'${name} '*` : ''}) ${offered(arg)} ;;\n`)).join('')}  esac
}

complete -F _escapement escapement
`;
}

const HELPERS = `_escapement_words() {
  COMPREPLY=($(compgen -W "$1" -- "$current"))
}

_escapement_files() {
  compopt -o filenames 2>/dev/null
  local IFS=$'\\n'
  COMPREPLY=($(compgen "$1" -- "$current"))
}

_escapement_override() {
  compopt -o nospace 2>/dev/null
  local IFS=$' \\t\\n' whole="$current" key=''
  # bash breaks words at "=", so the key may be a word of its own.
  case "$COMP_WORDBREAKS" in
    *=*)
      if [[ $previous == = ]]; then key="\${COMP_WORDS[COMP_CWORD-2]}="
      elif [[ $current == = ]]; then key="\${COMP_WORDS[COMP_CWORD-1]}="; whole=''
      fi ;;
  esac
  COMPREPLY=($(compgen -W "$_escapement_overrides" -- "$key$whole"))
  [[ -n $key ]] && COMPREPLY=("\${COMPREPLY[@]#"$key"}")
}
`;

const COUNT_ARGUMENTS = `  # The number of the argument: words that are neither flags nor their values.
  local argument=0
  for ((i = at; i < COMP_CWORD; i++)); do
    if [[ " $takes " == *" \${COMP_WORDS[i]} "* ]]; then
      ((i++))
      [[ \${COMP_WORDS[i+1]} == = ]] && ((i += 2))
    elif [[ \${COMP_WORDS[i]} != -* ]]; then ((argument++))
    fi
  done
`;

function caseOfFlags(
  name: string,
  flags: readonly { readonly name: string; readonly takesValue: boolean }[],
): string {
  const names = flags.map((flag) => flag.name).join(' ');
  const takes = flags.filter(({ takesValue }) => takesValue).map((flag) => flag.name);
  return `    '${name}') flags='${names}'; takes='${takes.join(' ')}' ;;\n`;
}

function offered({ words, completes }: Offer): string {
  if (words.length > 0) return `_escapement_words '${words.join(' ')}'`;
  if (completes === 'file') return '_escapement_files -f';
  if (completes === 'folder') return '_escapement_files -d';
  return completes === 'override' ? '_escapement_override' : ':';
}
