# Prints what zsh completes: complete.zsh FOLDER LINE... A terminal of its own types each line and asks for a list.
zmodload zsh/zpty
zpty shell "zsh -f -i"
expect() { zpty -r shell REPLY "*$1*" || { print -u2 "zsh has ended: $REPLY"; exit 1 } }
zpty -w shell "fpath=(${(q)1} \$fpath); autoload -U compinit; compinit -u -D"
zpty -w shell 'PROMPT= RPROMPT= LISTMAX=0; unsetopt zle_bracketed_paste 2>/dev/null; stty rows 200 columns 200'
# Each word that is added is printed between two marks.
zpty -w shell 'compadd() { local -a all; if [[ ${@[(I)-[OAD]]} -gt 0 ]]; then builtin compadd "$@"; return; fi
  builtin compadd -O all "$@"; for each in $all; print -r -- "<<$each>>"; builtin compadd "$@" }'
zpty -w shell 'list() { zle list-choices; print "<<end>>" }; zle -N list; bindkey "^T" list; print rea""dy'
expect ready
for line in "${@:2}"; do
  zpty -w -n shell "$line"$'\x14'
  expect '<<end>>'
  print -r -- "$REPLY"
  zpty -w -n shell $'\x15'
done
