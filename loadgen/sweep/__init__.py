"""Steps of growing load, and what they show: where throughput flattens, or the highest load that keeps an objective.

levels         the levels that a text asks for, such as 50,100,200 or 100..5000
step           one step: a level, its run, and whether the server kept up
scalability    throughput over users -> a knee, with an interval
result         what steps come to: the knee of users, the first rate not kept up with
search         which level to try next, to find the highest that keeps an objective
carry          carries steps out, and says when to stop
render         rows, sentences, JSON and CSV
"""
